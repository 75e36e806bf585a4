import { AsyncResource } from 'node:async_hooks';
import type { Handler } from '../handlers/handler.js';
import type { Job } from '../handlers/job.js';

/**
 * Calls a handler in its own async context, so that it cannot read another job's AsyncLocalStorage. Returns a promise
 * if the handler returned a thenable. A lazy query starts only in its `then`, so that is called in the context too.
 */
export function callHandler(handler: Handler, job: Job): unknown {
  const context = new AsyncResource('nest-job-queue job');
  const returned: unknown = context.runInAsyncScope(handler.handle, handler, job);
  return isThenable(returned) ? context.runInAsyncScope(adopt, undefined, returned) : returned;
}

function adopt(value: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
