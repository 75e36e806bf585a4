import { NonRetryableError } from '../../queue/errors/errors.js';

/** Makes the error final, because no attempt makes a stored value better. */
export function toNonRetryable(error: Error): Error {
  const ended = new NonRetryableError(error.message, { cause: error });
  ended.name = error.name;
  return ended;
}
