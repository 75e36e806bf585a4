import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import {
  setAroundEachJob,
  type BulkHandler,
  type BulkHandlerFunction,
} from '../../worker/handlers/bulk-handler.js';
import { handlerDefaults } from '../../worker/handlers/define-handler.js';
import type { Handler, HandlerFunction, HandlerOptions } from '../../worker/handlers/handler.js';
import { withSchemas, withBulkSchemas } from '../../worker/handlers/schema-handler.js';
import { isScoped } from '../enhancers/attempt-scope.js';
import { hasPipes } from '../enhancers/enhancer-metadata.js';
import type { HandlerBinder } from '../enhancers/handler-binder.js';
import type { FoundHandler } from './handler-explorer.js';

/** Returns a handler of one job at a time, as a worker takes it. */
export function handlerOf({ definition }: FoundHandler, options: HandlerOptions, handle: HandlerFunction): Handler {
  return definition
    ? { ...options, ...handlerDefaults(definition), handle: withSchemas(definition, handle) }
    : { ...options, handle };
}

/**
 * Returns a bulk handler for a worker. Guards, interceptors and filters act around each job separately.
 *
 * @throws InvalidOptionError
 */
export function bulkHandlerOf(
  found: FoundHandler,
  options: Omit<BulkHandler, 'handle'>,
  binder: HandlerBinder,
): BulkHandler {
  const { subject, method, definition, instance, wrapper } = found;
  if (isScoped(wrapper)) {
    throw new InvalidOptionError(`${subject}.bulk`, 'a provider of the default scope', 'a scoped one');
  }
  if (hasPipes(found)) {
    throw new InvalidOptionError(
      `${subject}.bulk`,
      'no pipes and no decorated parameters, since it gets several jobs',
      'some',
      'Bind it to a definition of defineJob, whose schema reads each payload.',
    );
  }
  if (typeof instance?.[method] !== 'function') {
    throw new InvalidOptionError(subject, `a method ${String(method)}(jobs)`, show(instance?.[method]));
  }
  const handle: BulkHandlerFunction = (jobs, call) =>
    (instance[method] as BulkHandlerFunction).call(instance, jobs, call);
  const handler = definition
    ? { ...options, ...handlerDefaults(definition), handle: withBulkSchemas(definition, handle) }
    : { ...options, handle };
  const each = binder.bindEachJob(found);
  if (each) {
    setAroundEachJob(handler.handle, each);
  }
  return handler;
}
