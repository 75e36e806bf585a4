import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { encodeJson } from '../../queue/codec/encode-content.js';
import { validateWithSchema } from '../../queue/validation/validate-with-schema.js';
import { withMiddleware, type AttemptMiddleware } from './attempt-middleware.js';
import type { BulkHandler, BulkHandlerFunction } from './bulk-handler.js';
import type { Handler, HandlerFunction } from './handler.js';
import type { Job } from './job.js';
import { toNonRetryable } from './non-retryable.js';

/** The definitions of bound functions. */
const definitions = new WeakMap<HandlerFunction | BulkHandlerFunction, JobDefinition>();

/** Returns the definition of a bound handler, or undefined. */
export function definitionOf(
  handler: HandlerFunction | Handler | BulkHandler | undefined,
): JobDefinition | undefined {
  const handle = typeof handler === 'function' ? handler : handler?.handle;
  return handle && definitions.get(handle);
}

/** Returns the function, with payload and result checked by the schemas. */
export function withSchemas(definition: JobDefinition, handle: HandlerFunction): HandlerFunction {
  const bound = withMiddleware([schemaMiddleware(definition)], handle);
  definitions.set(bound, definition);
  return bound;
}

/** Returns the function with its definition, by which each job is checked before and after the call. */
export function withBulkSchemas(definition: JobDefinition, handle: BulkHandlerFunction): BulkHandlerFunction {
  const bound: BulkHandlerFunction = (jobs, call) => handle(jobs, call);
  definitions.set(bound, definition);
  return bound;
}

/** Checks the payload of an attempt, its chunks and its result by the schemas of a definition. */
export function schemaMiddleware(definition: JobDefinition): AttemptMiddleware {
  const { payload: payloadSchema, result: resultSchema, signals, chunk } = definition;
  const attempt = async (job: Job, next: () => Promise<unknown>) => {
    try {
      job.setPayload(await validateWithSchema('payload', payloadSchema, job.payload, job.hiding('payload')));
    } catch (error) {
      throw toNonRetryable(error as Error);
    }
    if (signals) {
      job.defineSignals(definition);
    }
    if (chunk) {
      job.stream.define({ name: definition.name, chunk }, job.hiding('chunk'));
    }
    const result = await next();
    if (resultSchema) {
      // The form in which callers will read it.
      const stored =
        result === undefined ? undefined : (JSON.parse(encodeJson('result', result, Infinity)) as unknown);
      await validateWithSchema('result', resultSchema, stored, job.hiding('result'));
    }
    return result;
  };
  return { attempt };
}
