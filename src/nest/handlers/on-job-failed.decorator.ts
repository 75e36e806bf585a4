import { isJobDefinition, type JobDefinition, type PayloadOf } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobFailure } from '../../queue/codec/failure-job.js';
import { show } from '../../queue/errors/show.js';
import type { HandlerOptions } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import { recordHandler } from './job-handler.decorator.js';

/** Options of a handler of final failures. They apply to the failure jobs. */
export interface OnJobFailedOptions extends HandlerOptions {
  /** The queue of the jobs that fail. @default the definition's, else that of their handler in this process, else the one named as the job */
  queue?: string | undefined;
  /** The name of the connection that has the queue, in an app with several. @default the `forRoot` without a name */
  connection?: string | undefined;
}

/** Decorates a method that takes a failure job. */
export type FailureHandlerDecorator<Payload> = <Method extends (job: Job<JobFailure<Payload>>) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Makes a method the handler of final failures of the jobs of a name, as jobs of their own. The script that makes a dead
 * letter also enqueues one failure job. So no failure is missed when a process dies, and a failing method is retried.
 * `@OnJobEvent('failed')` is cheaper, but the event is lost with its process.
 *
 * The failure job goes to the queue of the failed job, before the jobs without a priority. Redis remembers for a day
 * that the name has such a handler. A bad option or a second handler stops the app's boot with an InvalidOptionError.
 *
 * @param definition the jobs that fail: their definition, or their name
 * @example
 * \@OnJobFailed('invoice', { maxAttempts: 10 })
 * async refund({ payload: failure }: Job<JobFailure<Invoice>>) {
 *   await this.tickets.open(`invoice ${failure.payload.number} failed: ${failure.error}`);
 * }
 */
export function OnJobFailed<Definition extends JobDefinition>(
  definition: Definition,
  options?: OnJobFailedOptions,
): FailureHandlerDecorator<PayloadOf<Definition>>;
/** Makes a method the handler of the final failures of the jobs of a name. */
export function OnJobFailed(name: string, options?: OnJobFailedOptions): MethodDecorator;
export function OnJobFailed(job: string | JobDefinition, options: OnJobFailedOptions = {}) {
  const [name, definition] = isJobDefinition(job) ? [job.name, job] : [job, undefined];
  return (target: object, method: string | symbol, descriptor: PropertyDescriptor) => {
    const place: unknown = descriptor?.value;
    if (typeof place !== 'function' || typeof target === 'function') {
      throw new InvalidOptionError(`@OnJobFailed(${show(name)})`, 'an instance method', String(method));
    }
    recordHandler(place, { name, options, definition, failures: true });
  };
}
