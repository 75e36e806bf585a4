import { Inject, Injectable } from '@nestjs/common';
import { QueueRegistry } from '../nest/connection/queue-registry.js';
import { JobQueueService } from '../nest/service/job-queue.service.js';
import type { QueueVerdict } from '../inspect/queue-signs.js';
import { inTime, unreadable, unreadableByAny } from '../inspect/unreadable.js';
import type { JobQueue } from '../queue/job-queue.js';
import { wholeOfShard } from '../queue/model/spread.js';
import { PUBLICATIONS } from '../queue/model/topic.js';
import { isQueueName } from '../queue/validation/names.js';
import { type ResolvedDashboardOptions, DASHBOARD_OPTIONS } from './dashboard-options.js';
import { ToldErrors } from './told-errors.js';
import { OtherQueues } from '../inspect/other-queues.js';

/** What was read of several queues. */
export interface Gathered<Found> {
  found: Found[];
  /** The verdicts on the queues that could not be read. */
  unreadable: QueueVerdict[];
}

/** The queues of the dashboard: those of this process and of the options, and others of the same Redis. */
@Injectable()
export class ShownQueues {
  private readonly others: OtherQueues;

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: Pick<ResolvedDashboardOptions, 'queues' | 'otherQueues'>,
    private readonly jobs: JobQueueService,
    private readonly queues: QueueRegistry,
    private readonly told: ToldErrors,
  ) {
    this.others = new OtherQueues((name) => queues.reference(name));
  }

  /** Returns the names of the queues of this process and of the options, by name. */
  own(): string[] {
    return [...new Set([...this.jobs.queueNames(), ...this.options.queues])].toSorted((a, b) => a.localeCompare(b));
  }

  /** Returns the names of all queues that the last look found. */
  names(): string[] {
    const own = this.own();
    return [...own, ...this.others.names.filter((name) => !own.includes(name))];
  }

  /** Returns the names of the shards of a queue; its own name if it has none. */
  shardsOf(queue: string): string[] {
    return this.names().filter((name) => wholeOfShard(name) === queue);
  }

  isOther(name: string): boolean {
    return !this.queues.has(name) && !this.options.queues.includes(name);
  }

  /** Returns whether the dashboard may show a queue of this name. */
  mayShow(name: string): boolean {
    return this.options.otherQueues !== false || !this.isOther(name);
  }

  /** Looks for other queues in the register of this Redis, at most once in some seconds. */
  async look(): Promise<void> {
    if (!this.options.otherQueues) {
      return;
    }
    await this.others.look(this.own());
  }

  /** Returns the queues of the subscriptions of topics. */
  async topicQueues(): Promise<string[]> {
    const subscriptions = await this.queues.reference(PUBLICATIONS).topics.of();
    return [...new Set(subscriptions.map(({ queue }) => queue))].filter((name) => this.mayShow(name));
  }

  /** Returns a queue. This process does not maintain one that is not its own. */
  get(name: string): JobQueue {
    return this.isOther(name) ? this.queues.reference(name) : this.queues.requested(name);
  }

  /** Returns whether the dashboard goes on without a queue: one of another app, or a shard. */
  private isOptional(name: string): boolean {
    return this.isOther(name) || this.queues.isShard(name);
  }

  /**
   * Returns the verdict on a queue that could not be read.
   *
   * @throws the error itself if Redis gave no reply for a queue of this app without shards
   */
  verdictOn(name: string, error: unknown): QueueVerdict {
    return this.isOptional(name)
      ? unreadableByAny(name, error, (each) => this.told.tell(each))
      : unreadable(name, error);
  }

  /**
   * Reads a list of each queue. A queue that cannot be read does not keep the others from being shown.
   *
   * @throws the error itself if Redis gave no reply for a queue of this app without shards
   */
  async gather<Found>(
    names: readonly string[],
    read: (queue: JobQueue) => Promise<readonly Found[]>,
  ): Promise<Gathered<Found>> {
    const verdicts: QueueVerdict[] = [];
    const found = await Promise.all(names.map((name) => this.readOrNote(name, read(this.get(name)), verdicts)));
    return { found: found.flat(), unreadable: verdicts };
  }

  /** Waits for a list of a queue. For an unreadable queue it notes the verdict, and returns an empty list. */
  readOrNote<Found>(
    name: string,
    reading: Promise<readonly Found[]>,
    verdicts: QueueVerdict[] = [],
  ): Promise<readonly Found[]> {
    return this.inTime(name, reading).catch((error: unknown) => {
      verdicts.push(this.verdictOn(name, error));
      return [];
    });
  }

  /** Waits for a reading. Another app's queue or a shard has a limited time, because its master may be silent. */
  inTime<Value>(name: string, reading: Promise<Value>): Promise<Value> {
    return this.isOptional(name) ? inTime(this.get(name), reading) : reading;
  }

  /**
   * Returns the queue of a name if the dashboard shows it. It finds a queue of other clients by its name alone. A queue
   * without jobs is found by a subscription of a topic.
   */
  async find(name: string): Promise<JobQueue | undefined> {
    if (this.names().includes(name)) {
      return this.get(name);
    }
    if (!this.options.otherQueues || !isQueueName(name)) {
      return undefined;
    }
    try {
      const isThere = (await this.others.isThere(name)) || (await this.topicQueues()).includes(name);
      return isThere ? this.get(name) : undefined;
    } catch (error) {
      unreadable(name, error);
      return this.get(name); // its pages say why it cannot be read
    }
  }
}
