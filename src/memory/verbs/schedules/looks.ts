// What keeps schedules right after the server's clock was ahead; see lua/schedule/due.lua and tick.lua.
import type { DueSchedule } from '../../../queue/store/verbs/schedule-verbs.js';
import { noteEnds } from './runs.js';
import type { MemoryQueue } from '../../state/memory-queue.js';

/** The most schedules to verify in one look. */
const MOST_OTHERS = 20;

/** Returns some schedules that are not due, with their due times. */
export function someOf(queue: MemoryQueue, ids: readonly string[], from: number): DueSchedule[] {
  return ids.slice(from, from + MOST_OTHERS).flatMap((id) => {
    const dueAtMs = queue.scheduleDue.score(id)!;
    const schedule = queue.schedules.get(id)!;
    const { version, recurrence } = schedule;
    if (dueAtMs === Infinity) {
      return [];
    }
    noteEnds(queue, schedule);
    return [{ id, dueAtMs, version: version!, recurrence: recurrence! }];
  });
}

/** Returns the id of a tick's job. In a time that comes again after the clock was ahead, one that no job has. */
export function jobIdOf(queue: MemoryQueue, id: string, dueAtMs: number, repeatsUntil: number): string {
  const count = dueAtMs <= repeatsUntil ? 100 : 1;
  const ids = Array.from({ length: count }, (_, i) => `@schedule:${id}:${dueAtMs + i}`);
  return ids.find((each) => !queue.job(each)) ?? ids[0]!;
}
