import { createHash } from 'node:crypto';
import type { Recurrence } from '../model/schedule.js';
import { nextTick } from './recurrence.js';

/**
 * Returns the next due time of a schedule after an instant, in epoch ms. It obeys the schedule's bounds and jitter.
 * Returns Infinity if no tick is left. It is the same in every process.
 *
 * @param schedule its queue and id, which determine the delay
 * @throws Error if this process does not know the time zone
 */
export function nextDue(recurrence: Recurrence, afterMs: number, schedule: { queue: string; id: string }): number {
  const { jitterMs = 0 } = recurrence;
  const [first, last] = [Number(recurrence.startAt ?? 0), Number(recurrence.endAt ?? Infinity)];
  let tick = nextTick(recurrence, Math.max(afterMs - jitterMs, first - 1));
  while (tick <= last) {
    const due = Math.min(tick + delayOf(tick, jitterMs, schedule), last);
    if (due > afterMs) {
      return due;
    }
    tick = nextTick(recurrence, tick);
  }
  return Infinity;
}

function delayOf(tick: number, jitterMs: number, { queue, id }: { queue: string; id: string }): number {
  if (jitterMs === 0) {
    return 0;
  }
  const drawn = createHash('sha1').update(`${queue} ${id} ${tick}`).digest().readUIntBE(0, 6);
  return drawn % (jitterMs + 1);
}
