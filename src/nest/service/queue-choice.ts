import { isJobDefinition, type JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { checkKnown, checkObject } from '../../queue/validation/validate-options.js';
import { checkQueueName } from '../../queue/validation/names.js';

/** The queue of a call, if the job's name alone does not decide it. */
export interface QueueChoice {
  /** Default: the definition's queue, that of the handler in this process, else the one named as the job. */
  queue?: string | undefined;
}

/**
 * Takes the queue out of the options of a call.
 *
 * @throws InvalidOptionError where they are no object
 */
export function takeQueue<Options extends object>(
  subject: string,
  options: Options & QueueChoice,
): { queue: string | undefined; rest: Omit<Options, 'queue'> } {
  checkObject(subject, 'an object of options', options);
  const { queue, ...rest } = options;
  return { queue, rest };
}

/** Returns the queue, where a call takes no other option. @throws InvalidOptionError */
export function onlyQueue(subject: string, options: QueueChoice): string | undefined {
  checkKnown(subject, options, ['queue']);
  return options.queue;
}

/**
 * Returns the name of a call's queue: its own option, else the definition's queue, else the handler's.
 *
 * @param queueOfHandler returns the queue of the handler in this process, or the job's own name without one
 * @throws InvalidOptionError
 */
export function chosenQueue(
  job: string | JobDefinition,
  queue: string | undefined,
  queueOfHandler: (name: string) => string,
): string {
  checkJob('job', job);
  const [name, defined] = typeof job === 'string' ? [job] : [job.name, job.defaults.queue];
  const chosen = queue === undefined ? defined : queue; // null is refused as a name
  return chosen === undefined ? queueOfHandler(name) : chosen;
}

/** Checks what a call gave to name the job. */
export function checkJob(subject: string, job: unknown): asserts job is string | JobDefinition {
  if (typeof job !== 'string' && !isJobDefinition(job)) {
    throw new InvalidOptionError(subject, "a job's name or a definition of defineJob", show(job));
  }
}

/** Checks the two first arguments of a verb for one job. @throws InvalidOptionError that names the call */
export function checkJobAndId(call: string, job: unknown, id: unknown): void {
  if (typeof id !== 'string') {
    const found = id === undefined ? `${show(job)} alone` : `${show(job)} and ${show(id)}`;
    throw new InvalidOptionError(call, 'a job and an id', found, `Write ${call}('email', id).`);
  }
}

/** @throws InvalidOptionError for a name that cannot be a queue's */
export function checkQueue(queue: string | undefined): void {
  if (queue !== undefined) {
    checkQueueName(queue);
  }
}
