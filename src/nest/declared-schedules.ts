import { InvalidOptionError } from '../queue/errors.js';
import { show } from '../queue/names.js';
import { newSchedule } from '../queue/schedule.js';
import type { DeclaredSchedule } from '../worker/recurring.js';
import type { FoundHandler } from './handler-explorer.js';
import type { QueueRegistry } from './queue-registry.js';

/** The recurring jobs that the handlers of this process declare, checked, by queue and id. */
export class DeclaredSchedules {
  private readonly byQueue = new Map<string, Map<string, DeclaredSchedule & { subject: string }>>();

  constructor(private readonly queues: QueueRegistry) {}

  /** @throws InvalidOptionError, InvalidPayloadError */
  add(queue: string, { subject, name, recurring }: FoundHandler): void {
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
      const schedule = { recurrence, options: { ...rest, name }, subject: of };
      newSchedule(this.queues.queue(queue), id, recurrence, schedule.options, of);
      schedules.set(id, schedule);
      this.byQueue.set(queue, schedules);
    }
  }

  /** As a worker takes them. */
  of(queue: string): Record<string, DeclaredSchedule> {
    return Object.fromEntries(this.byQueue.get(queue) ?? []);
  }
}
