// Schedules of a test: seeds them as if time had passed, and reads what became of them.
import { systemClock } from '#queue/runtime/clock.js';
import { encodeSchedule, type ScheduleOptions } from '#queue/schedules/schedule.js';
import type { StoredSchedule } from '#queue/verbs/schedule.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import type { Recurrence } from '#queue/model/schedule.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { testQueue, type TestQueue } from './queue-state.js';

export const HOUR = 3_600_000;
export const HOURLY: Recurrence = { everyMs: HOUR };

export class TestSchedules {
  readonly scripts: QueueCalls['schedules'];

  constructor(readonly q: TestQueue) {
    this.scripts = q.scripts.schedules;
  }

  /** Returns a definition as the scripts take it. */
  define(id: string, recurrence: Recurrence = HOURLY, options: ScheduleOptions = {}): StoredSchedule {
    return encodeSchedule(
      { name: this.q.name, options: { maxPayloadBytes: 1_000_000 }, store: { clock: systemClock } },
      id,
      recurrence,
      options,
    );
  }

  /** Puts a schedule that is due in an hour. With `worker`, as a worker's code declares it. */
  async put(schedule: StoredSchedule, worker?: string, dueInMs = HOUR): Promise<string> {
    const next = (await this.q.now()) + dueInMs;
    return (await this.q.run(this.scripts.upsert({ schedule, worker, nextDueMs: next }))).outcome;
  }

  /** Makes the schedule due since this many ms, and returns its due time. */
  async makeDue(id: string, sinceMs = 1_000): Promise<number> {
    const due = (await this.q.now()) - sinceMs;
    // A resting schedule keeps its time in its hash.
    if (await this.field(id, 'rested_due_ms')) {
      await this.q.redis.hset(this.q.keys.schedule(id), 'rested_due_ms', due);
    } else {
      await this.q.redis.zadd(this.q.keys.scheduleDue, 'XX', due, id);
    }
    return due;
  }

  /** Makes the schedule's declaration and its release this many ms old. */
  async silence(id: string, sinceMs: number): Promise<void> {
    const then = (await this.q.now()) - sinceMs;
    await this.q.redis.zadd(this.q.keys.scheduleOwners, 'XX', then, id);
    await this.q.redis.hset(this.q.keys.schedule(id), 'declared_until_ms', then);
  }

  async dueAt(id: string): Promise<number> {
    const score = await this.q.redis.zscore(this.q.keys.scheduleDue, id);
    return score === 'inf' ? Infinity : Number(score ?? NaN);
  }

  field(id: string, field: string): Promise<string | null> {
    return this.q.redis.hget(this.q.keys.schedule(id), field);
  }

  /** Returns the schedules that are due. */
  async due(limit = 100) {
    return this.q.run(this.scripts.due({ limit }));
  }

  /** Makes the ticks that are due, with the next due time in an hour. */
  async tick(): Promise<string[]> {
    const { due } = await this.due();
    const nextDueMs = (await this.q.now()) + HOUR;
    return this.q.run(this.scripts.tick({ ticks: due.map((each) => ({ ...each, nextDueMs })) }));
  }
}

/** Makes a queue with an unused name, and its schedules. */
export function testSchedules(options: QueueOptions = {}): { q: TestQueue; schedules: TestSchedules } {
  const q = testQueue(options);
  return { q, schedules: new TestSchedules(q) };
}
