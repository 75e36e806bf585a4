// The most that a job may cost Redis. Counts hardly differ between runs, so a run with --guard fails on these. Figures
// that a busy machine changes have no limit. Lower a limit here when a number has fallen permanently.
const LIMITS = {
  'requests.enqueue': 0.005,
  'inner.enqueue': 2.1,
  'requests.enqueue.parallel100': 0.04,
  'inner.enqueue.parallel100': 2.3,
  'requests.process': 0.06,
  'inner.process': 6.5,
  'requests.process.c10': 0.4,
  'inner.process.c10': 8,
};

/** Returns a line for each of our figures that is missing or above its limit. */
export function aboveLimits(figures) {
  return Object.entries(LIMITS).flatMap(([id, limit]) => {
    const found = figures.find((figure) => figure.id === id)?.self;
    return found <= limit ? [] : [`${id}: expected at most ${limit} per job, found ${found ?? 'no figure'}`];
  });
}
