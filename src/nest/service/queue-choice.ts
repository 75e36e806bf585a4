import { checkObject } from '../../queue/validation/validate-options.js';

/** The queue of a call, if the job's name alone does not decide it. */
export interface QueueChoice {
  /** Default: the definition's queue, that of the handler in this process, else the one named as the job. */
  queue?: string;
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
