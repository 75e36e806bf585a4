// Checks that a limit which queues share was never exceeded. A handler has the permit of its job until it ends, also once its
// claim is lost. So the handlers of all living processes count.
import type { Facts } from '../histories/facts.js';
import { groupBy } from '#queue/runtime/collections.js';
import { MOST_OF_KEY, MOST_SHARED } from '../processes/shared-work.js';

/** Returns the moments with too many handlers. A server that loses writes loses permits of running jobs, too. */
export function overShared(facts: Facts): string[] {
  if (facts.forgot || facts.mayForget(-Infinity, Infinity) || facts.sharing.size === 0) {
    return [];
  }
  const byKey = groupBy(
    facts.ranShared.filter(({ key }) => key !== ''),
    ({ key }) => key,
  );
  return [
    ...misused('shared limit', [facts.ranShared], MOST_SHARED),
    ...misused('key of a limit', [...byKey.values()], MOST_OF_KEY),
  ];
}

/** Returns the moments with too many handlers of a limit, or that it was never full. @param stores the handlers of each store */
function misused(what: string, stores: readonly Facts['ranShared'][], may: number): string[] {
  const peaks = stores.map(mostAtOnce);
  const above = peaks.filter(({ most }) => most > may);
  const highest = Math.max(0, ...peaks.map(({ most }) => most));
  return highest < may
    ? [`${what}: of ${may} jobs ${highest} ran at once at most, so nothing was shown`]
    : above.map(({ most, atMs }) => `${what}: ${most} jobs ran at once at ${atMs} ms, and maxRunning is ${may}`);
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
