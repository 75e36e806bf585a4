import { EnqueueBatcher } from './enqueue-batcher.js';
import { JobQueueError } from '../errors/errors.js';
import { counted } from '../errors/show.js';
import type { JobHandle } from '../results/job-handle.js';
import type { EnqueueReply } from '../store/enqueue-call.js';
import type { ProducingQueue, QueueAccess } from '../store/queue-store.js';

/**
 * An enqueue with `durability: 'replica'` was not acknowledged by enough replicas in time. The jobs are there: the master
 * has them, workers run them. They are lost only if the master fails before a replica has them.
 */
export class DurabilityTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'DURABILITY_TIMEOUT';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /** The handles of all jobs of the call, to read them, to await their results, or to cancel them. */
    readonly handles: readonly JobHandle[],
    /** The requested number of replicas. */
    readonly replicas: number,
    /** The number of replicas that acknowledged the jobs. */
    readonly acknowledged: number,
    /** The time limit for the replicas, in ms. */
    readonly timeoutMs: number,
    options?: ErrorOptions,
  ) {
    const ids = handles.map(({ id }) => id);
    const which = `${ids.length === 1 ? 'Job' : `${ids.length} jobs,`} ${ids.slice(0, 3).join(', ')}`;
    const reason = options?.cause ? ` (${(options.cause as Error).message})` : '';
    super(
      `${which}: expected ${counted(replicas, 'replica')} of Redis to have what was enqueued to "${queue}" within ${timeoutMs} ms, ` +
        `found ${acknowledged}${reason}. The master has it and it will run: do not enqueue it again without its id. ` +
        `It is lost only if the master fails before a replica has it.`,
      options,
    );
  }

  /** The ids of the jobs, which are written. */
  get jobIds(): string[] {
    return this.handles.map(({ id }) => id);
  }
}

/**
 * Returns a batcher that waits until replicas have the jobs, or reports how many had them in time.
 *
 * @param prepare see EnqueueBatcher
 */
export function durableBatcher(queue: ProducingQueue, prepare?: () => Promise<void>): EnqueueBatcher {
  const { replicas, durabilityTimeoutMs: timeoutMs, enqueueTimeoutMs: replyMs } = queue.options;
  const { store } = queue;
  return new EnqueueBatcher({
    queue: queue.name,
    store,
    callLimit: queue.callLimit,
    timeoutMs: replyMs + 2 * timeoutMs, // an enqueue may have to let another one's wait pass before its own begins
    wholeTicks: true, // each batch has its own WAIT, and they run one after the other
    open: () => queue.producerCalls(),
    isOpenedAnew: () => queue.isPlainWindow || queue.isBeingOpened,
    async prepare() {
      await prepare?.();
      await store.replicated.ready();
    },
    via: store.replicated,
    deliver: (calls, jobs) => store.replicated.send(calls, jobs, { replicas, timeoutMs, replyMs }),
  });
}

/** @throws DurabilityTimeoutError when fewer replicas than were asked for acknowledged one of the jobs in time */
export function requireReplicas(
  { name, options: { replicas, durabilityTimeoutMs } }: QueueAccess,
  handles: readonly JobHandle[],
  replies: readonly EnqueueReply[],
): void {
  const seen = replies.flatMap(({ replication }) => replication ?? []);
  const acknowledged = Math.min(...seen.map((each) => each.acknowledged));
  if (seen.length > 0 && acknowledged < replicas) {
    const failure = seen.find((each) => each.failure)?.failure;
    const options = failure && { cause: failure };
    throw new DurabilityTimeoutError(name, handles, replicas, acknowledged, durabilityTimeoutMs, options);
  }
}
