import type { JobQueue } from '../../queue/job-queue.js';
import type { QueueStats } from '../../queue/model/job.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { show } from '../../queue/errors/show.js';
import { nearest, suggest } from '../../queue/validation/suggest.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import { ANY_NAME } from '../../queue/validation/names.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { decoratedFor } from '../handlers/job-handler.decorator.js';

/** The time after which a fleet has started, in ms. Then a process looks for what others should do. */
export const FLEET_BOOT_MS = 65_000;

/** The most names of handled jobs that Redis returns. */
const MOST_NAMES = 10;

/**
 * Warns once of each name that this process uses in calls, injections and failure handlers, and that nobody else uses. No
 * job, worker or handler has it, so it may be misspelled. A name that this process handles or configures costs no command.
 */
export class UnusedNames {
  /** The names that were logged, or are in use. */
  private readonly settled = new Set<string>();
  private readonly madeAt = performance.now();

  constructor(
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
    private readonly logger: JobQueueLogger,
    private readonly fleetBootMs: number = FLEET_BOOT_MS,
  ) {
    queues.afterChange = (queue, verb) => this.afterCall(queue, verb);
    queues.unservedHint = (queue, job) => this.unservedHint(queue, job);
  }

  /**
   * Names the decorated classes of a name that no live worker handles, if this app does not provide them. A class alone
   * says nothing, because an app may import the handlers of another one.
   */
  private unservedHint(queue: string, job: string): string {
    const bound = this.handlers.handlersOf(queue);
    const places = job in bound || ANY_NAME in bound ? [] : decoratedFor(queue, job);
    return places.length === 0
      ? ''
      : ` ${places.join(', ')} has @JobHandler for it, and is in no \`providers\` of this app: add it if the app runs these jobs.`;
  }

  /**
   * Checks the queue of a call that was done. While the fleet starts it warns only with a similar name; the look at all
   * queues follows.
   */
  async afterCall(queue: JobQueue, verb: string): Promise<void> {
    const similar = this.handlers.bound && nearest(queue.name, this.others(queue.name)) !== undefined;
    if (similar || performance.now() - this.madeAt >= this.fleetBootMs) {
      await this.warnIfUnused(queue, `${verb} names queue ${show(queue.name)}`);
    }
  }

  /** Warns if this process serves no queue of that name, and one of a similar name. */
  servedHere(queue: string, verb: string): void {
    const served = this.handlers.queueNames;
    if (!served.includes(queue) && nearest(queue, served) !== undefined && this.isNew(`${verb} ${queue}`)) {
      this.logger.warn(
        `${verb} names queue ${show(queue)}, which this process does not serve. ${suggest(queue, served)}`,
      );
    }
  }

  /** Checks all queues and failure handlers of this process, once a fleet has started. */
  async lookAtAll(): Promise<void> {
    const failures = this.handlers.failures.all.map((each) => this.lookAtFailures(each));
    await Promise.all(failures);
    await Promise.all(
      this.queues.all.map((queue) => this.warnIfUnused(queue, `This process uses queue ${show(queue.name)}`)),
    );
  }

  private async warnIfUnused(queue: JobQueue, use: string): Promise<void> {
    const { name } = queue;
    if (this.isExpected(name) || this.settled.has(name)) {
      return;
    }
    try {
      const unused = isUnused(await queue.stats());
      if (this.isNew(name) && unused) {
        this.logger.warn(
          `${use}, which never had a job and has no live worker. Check the spelling. ${suggest(name, this.others(name))}`,
        );
      }
    } catch (error) {
      this.couldNot(name, error);
    }
  }

  private async lookAtFailures(found: { queue: string; name: string; subject: string }): Promise<void> {
    const { queue, name, subject } = found;
    const handled = Object.keys(this.handlers.handlersOf(queue));
    if (handled.includes(name) || this.settled.has(subject)) {
      return;
    }
    try {
      const target = this.queues.queue(queue);
      const { names } = await target.exec((calls) => calls.unserved({ jobs: [] }));
      const known = names.includes(name) || names.length === MOST_NAMES;
      // Clients of the Redis pattern announce no name. Their jobs have the name of the queue.
      const unused = !known && (name !== queue || !hadJobs(await target.stats()));
      if (this.isNew(subject) && unused) {
        this.logger.warn(
          `${subject} handles failures of jobs ${show(name)} in queue ${show(queue)}, and no live worker handles such jobs. ` +
            `Check the spelling. ${suggest(name, name === queue ? this.others(name) : [...handled, ...names])}`,
        );
      }
    } catch (error) {
      this.couldNot(queue, error);
    }
  }

  /** Returns whether a handler of jobs or an option of this process names the queue. */
  private isExpected(name: string): boolean {
    const whole = this.queues.wholeOf(name);
    return this.queues.isConfigured(whole) || this.handlers.queueNames.includes(whole);
  }

  /** Returns the names that this process knows beside one. */
  private others(name: string): string[] {
    const names = [...this.handlers.queueNames, ...this.queues.all.map((queue) => queue.name)];
    const failing = this.handlers.failures.all.map((each) => each.queue);
    const doubtful = (each: string) =>
      failing.includes(each) && Object.keys(this.handlers.handlersOf(each)).length === 0;
    return [...new Set(names)].filter((each) => each !== name && !doubtful(each));
  }

  private isNew(key: string): boolean {
    const isNew = !this.settled.has(key);
    this.settled.add(key);
    return isNew;
  }

  private couldNot(queue: string, error: unknown): void {
    if (!this.queues.redis.isClosed) {
      this.logger.warn(`Could not look whether queue ${show(queue)} is in use: ${(error as Error).message}`);
    }
  }
}

/** Returns whether no job and no live worker is known. A queue without jobs and workers keeps its counters. */
function isUnused(stats: QueueStats): boolean {
  return stats.workers === 0 && !hadJobs(stats);
}

function hadJobs({ pending, scheduled, processing, completed, failed, cancelled, totals }: QueueStats): boolean {
  const counters = Object.values(totals).reduce((sum, total) => sum + total, 0);
  return pending + scheduled + processing + completed + failed + cancelled + counters > 0;
}
