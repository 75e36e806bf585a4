import { NonRetryableError } from '../../queue/errors/errors.js';

/** Statuses of a 4xx that say "later", not "no". */
const LATER = [408, 425, 429];

/**
 * Returns whether a guard or a pipe refused the job: an HttpException of 4xx, also of another copy of Nest. Any other
 * error, such as a lost database, says nothing about the job.
 */
export function isRefusal(error: unknown): error is Error {
  const getStatus = (error as { getStatus?: unknown } | null)?.getStatus;
  if (!(error instanceof Error) || typeof getStatus !== 'function') {
    return false;
  }
  const status: unknown = getStatus.call(error);
  return typeof status === 'number' && status >= 400 && status < 500 && !LATER.includes(status);
}

/** Returns the error that fails a refused job permanently, with the name and the details of the refusal. */
export function finalRefusal(error: Error): NonRetryableError {
  const final = new NonRetryableError(messageOf(error), { cause: error });
  final.name = error.name;
  return final;
}

/** Returns the faults of a ValidationPipe, which are in its response; its message is only "Bad Request Exception". */
function messageOf(error: Error): string {
  const { getResponse } = error as { getResponse?: () => unknown };
  const response = typeof getResponse === 'function' ? getResponse.call(error) : undefined;
  const messages = (response as { message?: unknown } | null | undefined)?.message;
  return Array.isArray(messages) ? `${error.message}: ${messages.map(String).join('; ')}` : error.message;
}
