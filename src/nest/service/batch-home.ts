import { jobOfFollowUp, type BatchOptions } from '../../queue/batches/batch-options.js';
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
  /** The queue of the batch and of its follow-ups. @default that of the follow-ups, by their names or definitions */
  queue?: string;
}

/**
 * Returns the queue of a batch: that of its follow-ups, which the end of the last member enqueues.
 *
 * @throws InvalidOptionError if the follow-ups have several queues, or no queue is known
 */
export function batchHome(
  options: JobBatchOptions,
  targetOf: (job: string | JobDefinition) => JobQueue,
  queueOf: (name: string) => JobQueue,
): JobQueue {
  checkObject('batch', 'an object with then, onFailure, finally, failFast', options);
  if (options.queue !== undefined) {
    return queueOf(options.queue);
  }
  const named = (['then', 'onFailure', 'finally'] as const).flatMap((kind) => {
    const followUp = options[kind];
    if (followUp === undefined) {
      return [];
    }
    const job = jobOfFollowUp(`batch.${kind}`, followUp);
    return job === undefined ? [] : [{ kind, target: targetOf(job) }];
  });
  const [first] = named;
  if (!first) {
    throw new InvalidOptionError('batch', 'a follow-up with a name or a definition, or `queue`', 'neither');
  }
  const other = named.find(({ target }) => target !== first.target);
  if (other) {
    throw new InvalidOptionError(
      `batch.${other.kind}`,
      `a job of the queue "${first.target.name}", as of batch.${first.kind}`,
      `one of the queue "${other.target.name}"`,
      'All follow-ups of a batch share a queue: name it by `queue`, here and on their handlers.',
    );
  }
  return first.target;
}
