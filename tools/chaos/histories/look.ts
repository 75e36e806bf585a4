// Reads a queue and its schedules at one instant of the server's clock.
import type { JobQueue } from '#queue/job-queue.js';
import { monotonicMs } from './clock.js';
import { inside } from '../../../test/support/queue/inside.js';

/** An existing schedule. Times in ms of the server's clock, 0 for none. */
export interface SeenSchedule {
  createdAtMs: number;
  pausedAtMs: number;
  /** The next due time, or 0 without one. */
  dueMs: number;
  /** The number of ticks that were missed and left out. */
  skipped: number;
}

export interface Look {
  /** The time by the server's clock. */
  atMs: number;
  /** The time by the machine's monotonic clock: before this the server was not asked. */
  askedMs: number;
  /** The server's clock less the monotonic one: no more than that. */
  offMs: number;
  /** 0 where the queue is not paused. */
  pausedAtMs: number;
  /** The counter that each claim takes its fence from. */
  sequence: number;
  schedules: Record<string, SeenSchedule>;
}

/** Leaves no-writes out, so that no lagging replica runs it. */
const LOOK = `#!lua flags=allow-oom
local time = redis.call('TIME')
local seen = { tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000),
  tonumber(redis.call('HGET', KEYS[1], 'paused_at_ms') or 0), tonumber(redis.call('GET', KEYS[2]) or 0) }
for i, id in ipairs(ARGV) do
  local created, paused, skipped = unpack(redis.call('HMGET', KEYS[3 + i], 'created_at_ms', 'paused_at_ms', 'skipped'))
  local due = redis.call('ZSCORE', KEYS[3], id)
  seen[#seen + 1] = { tonumber(created or 0), tonumber(paused or 0), due and due ~= 'inf' and tonumber(due) or 0,
    tonumber(skipped or 0) }
end
return seen`;

/** @param ids of the schedules to look for */
export async function lookAt(queue: JobQueue, ids: readonly string[]): Promise<Look> {
  const { scripts, store, connection } = inside(queue);
  const { keys } = await scripts();
  const schedules = ids.map((id) => `${keys.schedulePrefix}${id}`);
  const given = [keys.settings, keys.sequence, keys.scheduleDue, ...schedules];
  const askedMs = monotonicMs();
  const answer = await store.ask(queue.callLimit.timeoutMs, () =>
    connection.client.eval(LOOK, given.length, ...given, ...ids),
  );
  const [atMs, pausedAtMs, sequence, ...seen] = answer as [number, number, number, ...number[][]];
  const look: Look = { atMs, askedMs, offMs: atMs - monotonicMs(), pausedAtMs, sequence, schedules: {} };
  seen.forEach(([createdAtMs = 0, pausedAt = 0, dueMs = 0, skipped = 0], i) => {
    if (createdAtMs > 0) look.schedules[ids[i]!] = { createdAtMs, pausedAtMs: pausedAt, dueMs, skipped };
  });
  return look;
}
