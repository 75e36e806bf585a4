// Checks that a limit which queues share was never exceeded. A handler has the permit of its job until it ends, also once its
// claim is lost. So the handlers of all living processes count.
import type { Facts } from '../histories/facts.js';
import { MOST_SHARED } from '../processes/shared-work.js';

/** Returns the moments with too many handlers. A server that loses writes loses permits of running jobs, too. */
export function overShared(facts: Facts): string[] {
  if (facts.forgot || facts.mayForget(-Infinity, Infinity) || facts.sharing.size === 0) {
    return [];
  }
  const { most, atMs } = mostAtOnce(facts.ranShared);
  if (most > MOST_SHARED) {
    return [`shared limit: ${most} jobs ran at once at ${atMs} ms, and maxRunning is ${MOST_SHARED}`];
  }
  return most < MOST_SHARED
    ? [`shared limit: of ${MOST_SHARED} jobs ${most} ran at once at most, so nothing was shown`]
    : [];
}

/** Returns the most handlers at once, and when. One that ends as another begins is not counted beside it. */
function mostAtOnce(ran: Facts['ranShared']): { most: number; atMs: number } {
  const steps = ran
    .filter(({ fromMs, toMs }) => toMs > fromMs)
    .flatMap(({ fromMs, toMs }) => [
      { atMs: fromMs, by: 1 },
      { atMs: toMs, by: -1 },
    ])
    .toSorted((a, b) => a.atMs - b.atMs || a.by - b.by);
  let [running, most, at] = [0, 0, 0];
  for (const { atMs, by } of steps) {
    running += by;
    if (running > most) [most, at] = [running, atMs];
  }
  return { most, atMs: at };
}
