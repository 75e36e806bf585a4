import { AsyncResource } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** A timer of a {@link Clock}. */
export interface Timer {
  /** Lets the process end although the timer has not fired. */
  unref(): unknown;
}

/**
 * The time and randomness of the runtime. All timers, instants and random ids of queues and workers come from their
 * store's clock. So a whole fleet can run by virtual time and a seed. This clock never decides a job's state, which the
 * store's own time does.
 */
export interface Clock {
  /** Returns the wall time, in ms since 1970. */
  now(): number;
  /** Returns ms since a fixed moment. It never goes back, so durations are measured by it. */
  monotonic(): number;
  setTimeout(task: () => void, ms: number): Timer;
  setInterval(task: () => void, ms: number): Timer;
  /** Runs a task once the code that runs now has ended, before any timer. */
  soon(task: () => void): void;
  /** Runs a task after all bytes that have arrived by now are read. */
  afterReads(task: () => void): void;
  /** Ends a timeout or an interval. */
  clear(timer: Timer | undefined): void;
  /** Returns a new job id or claim token. */
  randomId(): string;
  /** Returns a random number from 0 to 1. */
  random(): number;
}

/**
 * The clock of the process. It looks up the global functions at each call, so that a test may fake them. Its timers run in
 * the async context of no caller.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (task, ms) => outsideOfCaller(() => setTimeout(task, ms)),
  setInterval: (task, ms) => outsideOfCaller(() => setInterval(task, ms)),
  soon: (task) => process.nextTick(task),
  afterReads: (task) => void setImmediate(task),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  randomId,
  random: () => Math.random(),
};

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

const ID_LENGTH = 11;
const BYTES_DRAWN = 1_056;
let drawnText = '';
let usedLength = 0;

/**
 * Returns a new job id or claim token: 11 letters and digits, 65 random bits. An id is in a key and in a list for each
 * job. The 16 hex digits of the Redis pattern would cost 20 bytes more per job. Clients of the pattern accept any text.
 * About 120 ids are drawn at once. Drawing each alone would cost more than the rest of an enqueue.
 */
export function randomId(): string {
  if (usedLength + ID_LENGTH > drawnText.length) {
    drawnText = randomBytes(BYTES_DRAWN).toString('base64').replace(/[+/]/g, '');
    usedLength = 0;
  }
  usedLength += ID_LENGTH;
  return drawnText.slice(usedLength - ID_LENGTH, usedLength);
}
