import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';

/** Checks a line of a job's log. @throws InvalidOptionError */
export function checkLogLine(message: unknown): asserts message is string {
  if (typeof message !== 'string') {
    throw new InvalidOptionError('job.log', 'text', show(message));
  }
}
