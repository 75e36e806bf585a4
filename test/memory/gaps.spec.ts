// A sweep after a gap gives live workers one heartbeat, unless looks show that the store was there.
import { expect, it } from '@jest/globals';
import { newClockedQueue, onEachStore } from '../support/worker/workers.js';

const MINUTE = 60_000;
const [GAP_MS, WAIT_MS] = [MINUTE, 10_000];

onEachStore('a sweep ten minutes after the last one', () => {
  it.each<[string, { fromMs: number; toMs: number } | undefined, boolean]>([
    ['waits without looks', undefined, false],
    ['waits for no heartbeat after looks until now', { fromMs: -5 * MINUTE, toMs: -1 }, true],
    ['waits after looks that ended a gap ago', { fromMs: -5 * MINUTE, toMs: -GAP_MS - 1 }, false],
    ['waits after looks of less than a heartbeat', { fromMs: -WAIT_MS + 1, toMs: -1 }, false],
  ])('%s', async (_, looks, reclaims) => {
    const { queue, clock } = newClockedQueue();
    await queue.enqueue(1);
    await queue.claim();
    await queue.exec((calls) =>
      calls.sweep.reclaim({ limit: 10, gapMs: GAP_MS, waitMs: WAIT_MS, everyMs: MINUTE }),
    );
    clock.nowMs += 10 * MINUTE;
    const watched = looks && { fromMs: clock.nowMs + looks.fromMs, toMs: clock.nowMs + looks.toMs };
    const { reclaimed } = await queue.exec((calls) =>
      calls.sweep.reclaim({ limit: 10, gapMs: GAP_MS, waitMs: WAIT_MS, everyMs: MINUTE, watched }),
    );
    expect(reclaimed).toHaveLength(reclaims ? 1 : 0);
  });
});
