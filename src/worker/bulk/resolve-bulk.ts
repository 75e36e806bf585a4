import { compose, type Link } from '../../queue/model/compose.js';
import { withMiddleware, type AttemptMiddleware } from '../handlers/attempt-middleware.js';
import type { Handler, HandlerFunction, HandlerRetries } from '../handlers/handler.js';
import type { Job } from '../handlers/job.js';
import { definitionOf, schemaMiddleware } from '../handlers/schema-handler.js';
import {
  aroundEachJob,
  resolveBulkOptions,
  type BulkCall,
  type BulkHandler,
  type ResolvedBulk,
} from '../handlers/bulk-handler.js';

/** A handler as a queue runner uses it. With `bulk`, that does the work, and `handle` is never called. */
export interface ResolvedHandler extends Handler, HandlerRetries {
  bulk?: ResolvedBulk;
}

/** A call that passes through the middleware. */
interface CallInMiddleware {
  jobs: Job[];
  call: BulkCall;
}

export function isBulk(handler: HandlerFunction | Handler | BulkHandler): handler is BulkHandler {
  return typeof handler === 'object' && (handler as Partial<BulkHandler>).bulk !== undefined;
}

/** Puts a bulk handler inside of the middleware, which acts once around each call. */
export function resolveBulk(
  handler: BulkHandler,
  middleware: readonly AttemptMiddleware[],
): Omit<ResolvedHandler, keyof HandlerRetries> {
  const { bulk, handle: _handle, ...options } = handler;
  const links = middleware
    .filter((each) => each.bulk)
    .map(
      (each): Link<CallInMiddleware, unknown> =>
        ({ jobs }, next) =>
          each.bulk!(jobs, next),
    );
  const chain = compose<CallInMiddleware, unknown>(links, ({ jobs, call }) => handler.handle(jobs, call));
  const definition = definitionOf(handler);
  const schemas = definition ? [schemaMiddleware(definition)] : [];
  return {
    ...options,
    handle: () => undefined,
    bulk: {
      ...resolveBulkOptions(bulk),
      call: (jobs, call) => chain({ jobs, call }),
      around: (join) => withMiddleware(schemas, aroundEachJob(handler)?.(join) ?? join),
    },
  };
}
