import { AsyncResource } from 'node:async_hooks';

/** The async context of the process itself: that in which this module was loaded. */
const ROOT = new AsyncResource('nest-job-queue');

/**
 * Runs a task outside of the async context of the caller. What lives longer than a call is made this way: timers,
 * connections and rounds of maintenance. Else they would keep the tenant or the trace of one request as long as they live.
 */
export function outsideOfCaller<Result>(task: () => Result): Result {
  return ROOT.runInAsyncScope(task);
}

/** Sets a timer of no caller, which does not keep the process alive. */
export function backgroundTimeout(task: () => void, ms: number): NodeJS.Timeout {
  return outsideOfCaller(() => setTimeout(task, ms)).unref();
}

/** Sets an interval of no caller, which does not keep the process alive. */
export function backgroundInterval(task: () => void, ms: number): NodeJS.Timeout {
  return outsideOfCaller(() => setInterval(task, ms)).unref();
}
