import {
  jobOfFollowUp,
  type BatchOptions,
  type FindFollowUpQueue,
  type FollowUp,
  type TypedFollowUp,
} from '../../queue/batches/batch-options.js';
import { refuseUnreachable } from '../../queue/batches/refuse-unreachable.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { StandardSchema } from '../../queue/validation/standard-schema.js';
import { SpreadQueue } from '../../spread/spread-queue.js';

/** Options of a batch of the service. */
export interface JobBatchOptions<
  Then extends StandardSchema = StandardSchema,
  OnFailure extends StandardSchema = StandardSchema,
  Finally extends StandardSchema = StandardSchema,
> extends BatchOptions<Then, OnFailure, Finally> {
  /** The queue of the batch. @default that of its first follow-up, by its queue, name or definition */
  queue?: string | undefined;
}

/** How the service finds queues. */
interface BatchQueues {
  /** Returns the queue of a job, by its name or definition, or by its queue. */
  find(job: string | JobDefinition, queue: string | undefined): JobQueue | SpreadQueue;
  /** Returns a queue. @throws InvalidOptionError for one with shards */
  queueOf(name: string): JobQueue;
}

/**
 * Returns the queue of a batch: the named one, else that of its first follow-up. Returns the batch with the queue of each
 * follow-up that has another one.
 *
 * @throws InvalidOptionError if no queue is known, or a follow-up's queue is on another Redis
 */
export function placeBatch(
  options: JobBatchOptions,
  queues: BatchQueues,
): { home: JobQueue; options: BatchOptions; find: FindFollowUpQueue } {
  checkObject('batch', 'an object with then, onFailure, finally, failFast', options);
  const { queue, ...batch } = options;
  const placed = (['then', 'onFailure', 'finally'] as const).flatMap((kind) => {
    const followUp = batch[kind];
    const place = followUp && placeOf(`batch.${kind}`, followUp, queues);
    return place ? [{ kind, ...place }] : [];
  });
  const home = queue === undefined ? placed[0]?.target : queues.queueOf(queue);
  if (!home) {
    throw new InvalidOptionError('batch', 'a follow-up with a name or a definition, or `queue`', 'neither');
  }
  if (queue === undefined) placed[0]!.refuseAsHome();
  for (const { kind, target, followUp } of placed) {
    refuseUnreachable(`batch.${kind}.queue`, home, target);
    batch[kind] = target.name === home.name ? followUp : { ...followUp, queue: target.name };
  }
  const found = new Map(placed.map(({ target }) => [target.name, target]));
  return { home, options: batch, find: (name) => found.get(name) ?? queues.queueOf(name) };
}

/** The queue of a follow-up, or its shard. */
interface FollowUpPlace {
  target: JobQueue;
  followUp: FollowUp | TypedFollowUp;
  /** @throws InvalidOptionError for a queue with shards, because the id of a batch names no shard */
  refuseAsHome(): void;
}

/** Returns the place of a follow-up; undefined for one without a queue, a name and a definition. */
function placeOf(
  subject: string,
  followUp: FollowUp | TypedFollowUp,
  { find, queueOf }: BatchQueues,
): FollowUpPlace | undefined {
  const job = jobOfFollowUp(subject, followUp);
  const named = followUp.queue ?? job;
  if (named === undefined) {
    return undefined;
  }
  const found = find(named, followUp.queue);
  if (!(found instanceof SpreadQueue)) {
    return { target: found, followUp, refuseAsHome: () => undefined };
  }
  const target = found.ofJob(subject, followUp) ?? found.next();
  const own = job === undefined ? ({ ...followUp, name: found.name } as FollowUp) : followUp;
  return { target, followUp: own, refuseAsHome: () => void queueOf(found.name) };
}
