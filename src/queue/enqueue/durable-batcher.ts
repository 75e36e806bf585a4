import type { Connection } from '../redis/connection.js';
import { DurableConnection } from './durable-connection.js';
import { EnqueueBatcher } from './enqueue-batcher.js';
import { JobQueueError } from '../model/errors.js';
import type { JobHandle } from '../results/job-handle.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { EnqueueAnswer } from '../store/enqueue-call.js';
import type { QueueCalls } from '../store/queue-calls.js';

/**
 * An enqueue with `durability: 'replica'` was not acknowledged by enough replicas in time. The jobs are there: the master
 * has them, workers run them. They are lost only if the master fails before a replica has them.
 */
export class DurabilityTimeoutError extends JobQueueError {
  constructor(
    readonly queue: string,
    /** Of all jobs of the call, to read them, to await their results, or to cancel them. */
    readonly handles: readonly JobHandle[],
    /** How many replicas were asked for. */
    readonly replicas: number,
    /** How many had acknowledged the jobs. */
    readonly acknowledged: number,
    readonly timeoutMs: number,
    options?: ErrorOptions,
  ) {
    const ids = handles.map(({ id }) => id);
    const which = `${ids.length === 1 ? 'Job' : `${ids.length} jobs,`} ${ids.slice(0, 3).join(', ')}`;
    const reason = options?.cause ? ` (${(options.cause as Error).message})` : '';
    super(
      `${which}: expected ${replicas} replica(s) of Redis to have what was enqueued to "${queue}" within ${timeoutMs} ms, ` +
        `found ${acknowledged}${reason}. The master has it and it will run: do not enqueue it again without its id. ` +
        `It is lost only if the master fails before a replica has it.`,
      options,
    );
  }

  get jobIds(): string[] {
    return this.handles.map(({ id }) => id);
  }
}

/** The queue that jobs are added to. */
interface DurableQueue {
  readonly name: string;
  readonly options: ResolvedQueueOptions;
  readonly connection: Connection;
  scripts(): Promise<QueueCalls>;
}

/**
 * An enqueuer whose answers come when replicas have the jobs, or say how many had them in time.
 *
 * @param prepare see EnqueueBatcher
 */
export function durableEnqueuer(queue: DurableQueue, prepare?: () => Promise<void>): EnqueueBatcher {
  const { replicas, durabilityTimeoutMs: timeoutMs, enqueueTimeoutMs: answerMs } = queue.options;
  const line = DurableConnection.of(queue.connection);
  return new EnqueueBatcher({
    queue: queue.name,
    connection: queue.connection,
    timeoutMs: answerMs + 2 * timeoutMs, // an enqueue may have to let another one's wait pass before its own begins
    wholeTicks: true, // each batch has a WAIT of its own, and they go one after the other
    async prepare() {
      await prepare?.();
      await line.ready();
    },
    sender: () => line.sender,
    async deliver(jobs) {
      const scripts = await queue.scripts();
      return line.send(scripts.enqueue(jobs), scripts.keys.stats, { replicas, timeoutMs, answerMs });
    },
  });
}

/** @throws DurabilityTimeoutError when fewer replicas than were asked for acknowledged one of the jobs in time */
export function requireReplicas(
  { name, options: { replicas, durabilityTimeoutMs } }: Pick<DurableQueue, 'name' | 'options'>,
  handles: readonly JobHandle[],
  answers: readonly EnqueueAnswer[],
): void {
  const seen = answers.flatMap(({ replication }) => replication ?? []);
  const acknowledged = Math.min(...seen.map((each) => each.acknowledged));
  if (seen.length > 0 && acknowledged < replicas) {
    const failure = seen.find((each) => each.failure)?.failure;
    const options = failure && { cause: failure };
    throw new DurabilityTimeoutError(name, handles, replicas, acknowledged, durabilityTimeoutMs, options);
  }
}
