import type { Recurrence } from '../model/schedule.js';
import type { QueueCalls } from '../scripts/calls/all-calls.js';
import { type Fault, instantFault } from '../scripts/calls/doctor-calls.js';
import { nextDue } from '../schedules/next-due.js';
import type { DueSchedule } from '../store/verbs/schedule-verbs.js';
import type { AuditedRedis } from './audited-redis.js';

/**
 * Finds schedules whose due time is later than the next time of their rule, because the server's clock was ahead. A
 * repair moves them to that time. Resting schedules have no due time.
 */
export class ScheduleTimes {
  constructor(
    private readonly queue: AuditedRedis,
    private readonly calls: QueueCalls,
    private readonly repair: boolean,
  ) {}

  async faults(): Promise<Fault[]> {
    const found: Fault[] = [];
    for (let offset = 0, read = -1; read !== 0; offset += read) {
      const { nowMs, due } = await this.queue.run(this.calls.schedules.due(0, offset));
      const ahead = due.flatMap((each) => this.withNext(each, nowMs));
      found.push(
        ...ahead.map(({ id, dueAtMs, nextDueMs }) =>
          instantFault(`${this.calls.keys.scheduleDue} ${id}`, dueAtMs, nextDueMs),
        ),
      );
      if (this.repair && ahead.length > 0) {
        await this.queue.run(this.calls.schedules.tick(ahead));
      }
      read = due.length;
    }
    return found;
  }

  /** Returns the schedule with its next time if it is due later. Another process may know a zone that this one does not. */
  private withNext(due: DueSchedule, nowMs: number): (DueSchedule & { nextDueMs: number })[] {
    try {
      const recurrence = JSON.parse(due.recurrence) as Recurrence;
      const nextDueMs = nextDue(recurrence, nowMs, { queue: this.calls.keys.queue, id: due.id });
      return due.dueAtMs > nextDueMs ? [{ ...due, nextDueMs }] : [];
    } catch {
      return [];
    }
  }
}
