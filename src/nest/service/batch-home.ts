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
  /** Returns the queue of a job, by its name or definition. */
  targetOf(job: string | JobDefinition): JobQueue;
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
    const target = followUp && targetOf(`batch.${kind}`, followUp, queues);
    return target ? [{ kind, target, followUp }] : [];
  });
  const home = queue === undefined ? placed[0]?.target : queues.queueOf(queue);
  if (!home) {
    throw new InvalidOptionError('batch', 'a follow-up with a name or a definition, or `queue`', 'neither');
  }
  for (const { kind, target, followUp } of placed) {
    refuseUnreachable(`batch.${kind}.queue`, home, target);
    if (target.name !== home.name) {
      batch[kind] = { ...followUp, queue: target.name };
    }
  }
  return { home, options: batch, find: (name) => queues.queueOf(name) };
}

/** Returns the queue of a follow-up; undefined for one without a queue, a name and a definition. */
function targetOf(
  subject: string,
  followUp: FollowUp | TypedFollowUp,
  { targetOf: find, queueOf }: BatchQueues,
): JobQueue | undefined {
  const job = jobOfFollowUp(subject, followUp);
  return followUp.queue !== undefined ? queueOf(followUp.queue) : job === undefined ? undefined : find(job);
}
