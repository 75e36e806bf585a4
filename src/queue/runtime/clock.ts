import { outsideOfCaller } from './outside.js';
import { randomId } from './random-id.js';

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
