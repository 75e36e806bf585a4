import type { JobQueue } from '../queue/job-queue.js';
import type { JobQueueLogger } from '../queue/logger.js';
import type { Recurrence } from '../queue/recurrence.js';
import { newSchedule, type ScheduleOptions } from '../queue/schedule.js';
import { Declarer } from './declarer.js';
import { Ticker } from './ticker.js';

/** A recurring job that the code of a worker declares. */
export interface DeclaredSchedule {
  recurrence: Recurrence;
  options?: ScheduleOptions;
  /** How errors name it. Default: by its id. */
  subject?: string;
}

/** What recurs in one worker: declares the schedules of its code, and makes the ticks of all queues that it serves. */
export class Recurring {
  private readonly declarer: Declarer;
  private readonly ticker: Ticker;

  /** @throws InvalidOptionError, InvalidPayloadError */
  constructor(
    worker: string,
    queues: readonly { queue: JobQueue; schedules?: Readonly<Record<string, DeclaredSchedule>> }[],
    logger: JobQueueLogger,
  ) {
    const declared = queues.map(({ queue, schedules = {} }) => ({
      queue,
      schedules: Object.entries(schedules).map(([id, { recurrence, options, subject }]) =>
        newSchedule(queue, id, recurrence, options, subject),
      ),
    }));
    this.declarer = new Declarer(
      worker,
      declared.filter(({ schedules }) => schedules.length > 0),
      logger,
    );
    this.ticker = new Ticker(
      queues.map(({ queue }) => queue),
      logger,
    );
  }

  /** Declares before it ticks: what was due while no process was there must find its schedule in force. */
  async start(): Promise<void> {
    await this.declarer.start();
    this.ticker.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.ticker.stop(), this.declarer.stop()]);
  }
}
