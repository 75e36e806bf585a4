import { isJobDefinition, type JobDefinition } from '../../queue/enqueue/define-job.js';
import { validateBulk } from '../../queue/enqueue/validate-bulk.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import { checkKnown } from '../../queue/validation/validate-options.js';
import {
  optionsFor,
  storedIn,
  type EnqueueManyOptions,
  type JobOfAnyName,
  type OneOfManyOptions,
} from './enqueue-job-options.js';
import { enqueueMixed } from './enqueue-mixed.js';
import { checkJob } from './queue-choice.js';

/** Finds the queue that a call means. */
type FindQueue = (job: string | JobDefinition, queue: string | undefined) => JobQueue;

/** The arguments of an `enqueueMany`: jobs of one name with their array, or of several names. */
export type ManyArguments = [
  job: string | JobDefinition | readonly JobOfAnyName[],
  jobs?: readonly ({ payload: unknown } & OneOfManyOptions)[],
  options?: EnqueueManyOptions,
];

/**
 * Adds many jobs: of one name with their array, or of several names; see JobQueueService.enqueueMany.
 *
 * @throws InvalidOptionError, InvalidPayloadError, EnqueueError
 */
export async function enqueueMany(
  find: FindQueue,
  ...[job, jobs, options = {}]: ManyArguments
): Promise<JobHandle[]> {
  if (typeof job !== 'string' && !isJobDefinition(job)) {
    if (jobs !== undefined) {
      throw new InvalidOptionError(
        'enqueueMany',
        'a job beside its array, or an array of { job, payload, … } alone',
        show(job),
      );
    }
    return enqueueOfAnyName(find, job);
  }
  checkKnown('enqueueMany', options, ['queue', 'transaction', 'ordered']);
  const target = find(job, options.queue);
  const checked = validateBulk(jobs!);
  const many =
    typeof job === 'string'
      ? checked.map(({ payload, ...rest }, i) => ({
          payload,
          ...optionsFor(target, job, rest, `enqueueMany[${i}]`),
        }))
      : checked;
  return target.producer.many(typeof job === 'string' ? undefined : job, many, storedIn('enqueueMany', options));
}

function enqueueOfAnyName(find: FindQueue, jobs: readonly JobOfAnyName[]): Promise<JobHandle[]> {
  const mixed = validateBulk(jobs).map(({ job, payload, queue, ...rest }, i) => {
    checkJob(`enqueueMany[${i}].job`, job);
    const target = find(job, queue);
    return typeof job === 'string'
      ? { target, definition: undefined, payload, options: optionsFor(target, job, rest, `enqueueMany[${i}]`) }
      : { target, definition: job, payload, options: rest };
  });
  return enqueueMixed(mixed);
}
