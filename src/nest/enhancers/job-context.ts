import type { ArgumentsHost } from '@nestjs/common';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { Job } from '../../worker/handlers/job.js';

/** The type of the ExecutionContext of a job's attempt, as `context.getType()` returns it. */
export const JOB_CONTEXT = 'job';

/**
 * Returns the job of an attempt, in a guard, an interceptor or an exception filter.
 *
 * @throws InvalidOptionError for a context without a job: check `context.getType() === 'job'` first
 * @example
 * canActivate(context: ExecutionContext) {
 *   return getJob(context).metadata.tenant !== undefined;
 * }
 */
export function getJob<Payload = unknown>(context: ArgumentsHost): Job<Payload> {
  const type: string = context.getType();
  if (type !== JOB_CONTEXT) {
    throw new InvalidOptionError(
      'getJob',
      `a context of the type '${JOB_CONTEXT}'`,
      show(type),
      `Ask context.getType<string>() === '${JOB_CONTEXT}' first.`,
    );
  }
  return context.getArgByIndex<Job<Payload>>(0);
}
