// What a job may cost Redis at most. Counts hardly differ from run to run, so a run with --guard fails on these, and on
// nothing that a busy machine can change. Where a number has fallen for good, lower it here.
const LIMITS = {
  'requests.enqueue': 0.005,
  'inner.enqueue': 2.1,
  'requests.enqueue.parallel100': 0.04,
  'inner.enqueue.parallel100': 2.3,
  'requests.process': 0.06,
  'inner.process': 6.5,
};

/** The figures of ours that are above their limit, or were not taken: a line for each. */
export function aboveLimits(figures) {
  return Object.entries(LIMITS).flatMap(([id, limit]) => {
    const found = figures.find((figure) => figure.id === id)?.self;
    return found <= limit ? [] : [`${id}: expected at most ${limit} per job, found ${found ?? 'no figure'}`];
  });
}
