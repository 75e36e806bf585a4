import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { checkSchedule, encodeSchedule } from '../../queue/schedules/schedule.js';
import type { DeclaredSchedule } from '../../worker/handlers/worker-queue.js';
import type { FoundHandler } from './handler-explorer.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

/** The checked recurring jobs that the handlers of this process declare, by queue and id. */
export class DeclaredSchedules {
  private readonly byQueue = new Map<string, Map<string, DeclaredSchedule & { subject: string }>>();
  /** The checks of payloads by asynchronous schemas. */
  private readonly checks: Promise<unknown>[] = [];

  constructor(private readonly queues: QueueRegistry) {}

  /** @throws InvalidOptionError, InvalidPayloadError */
  add(queue: string, { subject, name, recurring, definition }: FoundHandler): void {
    for (const { recurrence, options } of recurring) {
      const of = `@RecurringJob of ${subject}`;
      if (typeof options !== 'object' || options === null) {
        throw new InvalidOptionError(of, 'an object of options', show(options));
      }
      const { id = name, ...rest } = options;
      const schedules = this.byQueue.get(queue) ?? new Map<string, DeclaredSchedule & { subject: string }>();
      const other = schedules.get(id);
      if (other) {
        throw new InvalidOptionError(
          of,
          `one schedule ${show(id)} in queue "${queue}"`,
          `another one, ${other.subject}`,
          'Give it an id.',
        );
      }
      const named = definition ? { payload: null, ...rest, definition } : { ...rest, name };
      const schedule = { recurrence, options: named, subject: of };
      const target = this.queues.queue(queue);
      const stored = encodeSchedule(target, id, recurrence, named, of);
      const check = checkSchedule(stored, definition, target, of);
      if (check) {
        check.catch(() => undefined); // whenChecked reports the error
        this.checks.push(check);
      }
      schedules.set(id, schedule);
      this.byQueue.set(queue, schedules);
    }
  }

  /** @throws InvalidPayloadError where an asynchronous schema does not take a payload */
  async whenChecked(): Promise<void> {
    await Promise.all(this.checks);
  }

  /** Returns the schedules of a queue for a worker. */
  of(queue: string): Record<string, DeclaredSchedule> {
    return Object.fromEntries(this.byQueue.get(queue) ?? []);
  }
}
