import {
  type ChunkInput,
  isJobDefinition,
  type JobDefinition,
  type PayloadOf,
  type ResultInput,
  type SignalsOf,
} from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { withSchemas } from './schema-handler.js';
import { checkHandlerOptions } from './handler-options.js';
import type { Handler, HandlerOptions } from './handler.js';
import type { Job } from './job.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';

/**
 * A handler of a definition. It gets the parsed payload, and returns a value for the result's schema. An async generator streams what it
 * yields.
 */
export type TypedHandlerFunction<Definition extends JobDefinition> = (
  job: Job<PayloadOf<Definition>, SignalsOf<Definition>, ChunkInput<Definition>>,
) =>
  | ResultInput<Definition>
  | Promise<ResultInput<Definition>>
  | AsyncGenerator<ChunkInput<Definition>, ResultInput<Definition>>;

/**
 * Binds a function to a definition, for a Worker without Nest. A stored payload that does not fit makes a dead letter
 * with the path of the fault. A result that does not fit fails the attempt.
 *
 * @param options defaults, which the enqueue and the definition override
 * @throws InvalidOptionError
 * @example new Worker([{ queue, handlers: { [SendEmail.name]: defineHandler(SendEmail, (job) => send(job.payload)) } }]);
 */
export function defineHandler<Definition extends JobDefinition>(
  definition: Definition,
  handle: TypedHandlerFunction<Definition>,
  options: HandlerOptions = {},
): Handler {
  const subject = subjectOf('defineHandler', definition, handle);
  checkHandlerOptions(subject, options);
  return { ...options, ...handlerDefaults(definition), handle: withSchemas(definition, handle) };
}

/**
 * Returns how errors name what binds a function to a definition.
 *
 * @param binder the function that binds them, such as `defineHandler`
 * @throws InvalidOptionError where one of the two is something else
 */
export function subjectOf(binder: string, definition: JobDefinition, handle: unknown): string {
  if (!isJobDefinition(definition)) {
    throw new InvalidOptionError(binder, 'a definition of defineJob', show(definition));
  }
  const subject = `${binder}(${show(definition.name)})`;
  if (typeof handle !== 'function') {
    throw new InvalidOptionError(subject, 'a function', show(handle));
  }
  return subject;
}

/** Returns the options that a definition sets for the handlers of its jobs. */
export function handlerDefaults({ defaults }: JobDefinition): HandlerOptions {
  const { maxAttempts, maxCrashes, backoff, timeoutMs, keepResult, resultTtlMs, slots } = defaults;
  return withoutUndefined<HandlerOptions>({
    maxAttempts,
    maxCrashes,
    backoff,
    timeoutMs,
    keepResult,
    resultTtlMs,
    slots,
  });
}
