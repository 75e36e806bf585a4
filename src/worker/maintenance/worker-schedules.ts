import { checkKnown } from '../../queue/validation/validate-options.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { own } from '../../queue/runtime/collections.js';
import { show } from '../../queue/errors/show.js';
import { checkSchedule, encodeSchedule } from '../../queue/schedules/schedule.js';
import type { StoredSchedule } from '../../queue/verbs/schedule.js';
import { definitionOf } from '../handlers/schema-handler.js';
import type { DeclaredSchedule } from '../handlers/worker-queue.js';
import { ScheduleDeclarer } from './schedule-declarer.js';
import type { BulkHandler } from '../handlers/bulk-handler.js';
import type { Handler, HandlerFunction } from '../handlers/handler.js';
import { ScheduleTicker, type TickingWorker } from './schedule-ticker.js';

/** A queue of a worker, as far as it recurs. */
interface RecurringQueue {
  queue: JobQueue;
  handlers?: Readonly<Record<string, HandlerFunction | Handler | BulkHandler>>;
  schedules?: Readonly<Record<string, DeclaredSchedule>>;
}

/** Declares the schedules of a worker's code, and makes the ticks of all its queues. */
export class WorkerSchedules implements BackgroundRole {
  private readonly declarer: ScheduleDeclarer;
  private readonly ticker: ScheduleTicker;
  /** The checks of payloads by asynchronous schemas. */
  private readonly checks: Promise<unknown>[] = [];

  /** @throws InvalidOptionError, InvalidPayloadError */
  constructor(worker: string, queues: readonly RecurringQueue[], logger: JobQueueLogger, ticking?: TickingWorker) {
    const declared = queues.map((each) => ({
      queue: each.queue,
      schedules: Object.entries(each.schedules ?? {}).map(([id, schedule]) => this.declared(each, id, schedule)),
    }));
    this.declarer = new ScheduleDeclarer(
      worker,
      declared.filter(({ schedules }) => schedules.length > 0),
      logger,
    );
    this.ticker = new ScheduleTicker(
      queues.map(({ queue }) => queue),
      logger,
      ticking,
    );
  }

  /**
   * Declares before it ticks, so that an overdue tick finds its schedule active.
   *
   * @throws InvalidPayloadError of an asynchronous schema, before anything is declared
   */
  async start(): Promise<void> {
    await Promise.all(this.checks);
    await this.declarer.start();
    this.ticker.start();
  }

  /** Declares the schedules, then makes the ticks that are due. */
  async runOnce(): Promise<void> {
    await this.declarer.runOnce();
    await this.ticker.runOnce();
  }

  /** Looks for schedules of a queue again, because a wake came. */
  lookAgain(queue: JobQueue, foundJobs: boolean): void {
    this.ticker.lookAgain(queue, foundJobs);
  }

  async stop(): Promise<void> {
    await Promise.all([this.ticker.stop(), this.declarer.stop()]);
  }

  private declared(of: RecurringQueue, id: string, declared: DeclaredSchedule): StoredSchedule {
    checkKnown(`schedule ${show(id)}`, declared, ['recurrence', 'options', 'subject']);
    const { recurrence, subject } = declared;
    const options = withDefinition(of, declared.options);
    const schedule = encodeSchedule(of.queue, id, recurrence, options, subject);
    const check = checkSchedule(schedule, options?.definition, of.queue, subject);
    if (check) {
      // The start awaits the check. Without a start its rejection needs no handler.
      check.catch(() => undefined);
      this.checks.push(check);
    }
    return schedule;
  }
}

/** Returns the options with the definition of the handler, if they name none. */
function withDefinition(
  { queue, handlers = {} }: RecurringQueue,
  options: DeclaredSchedule['options'] = {},
): DeclaredSchedule['options'] {
  if (options === null || options.definition) {
    return options; // null is refused by the check of options
  }
  const { name = queue.name, ...rest } = options;
  const definition = definitionOf(own(handlers, name));
  return definition?.name === name ? { payload: null, ...rest, definition } : options;
}
