import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import type { Clock, Timer } from '../../queue/runtime/clock.js';

interface Pending extends Timer {
  at: number;
  order: number;
  task: () => void;
  everyMs?: number;
}

/**
 * A clock for repeatable tests. Its time changes only by `advance`, and its random numbers come from a seed.
 *
 * @example
 * const clock = new VirtualClock();
 * await clock.advance(60_000); // all timers of the next minute fire, in their order
 */
export class VirtualClock implements Clock {
  private readonly pending = new Map<Timer, Pending>();
  private time: number;
  private order = 0;
  private state: number;

  constructor(startMs: number = Date.UTC(2030, 0, 1), seed: number = 1) {
    this.time = startMs;
    this.state = seed >>> 0;
  }

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time;
  }

  setTimeout(task: () => void, ms: number): Timer {
    return this.add(task, Math.max(0, ms));
  }

  setInterval(task: () => void, ms: number): Timer {
    return this.add(task, Math.max(1, ms), Math.max(1, ms));
  }

  soon(task: () => void): void {
    void Promise.resolve().then(task);
  }

  afterReads(task: () => void): void {
    this.soon(task);
  }

  clear(timer: Timer | undefined): void {
    if (timer) this.pending.delete(timer);
  }

  randomId(): string {
    const part = () =>
      Math.floor(this.random() * 2 ** 32)
        .toString(36)
        .padStart(7, '0');
    return (part() + part()).slice(0, 11);
  }

  /** Returns a random number by Mulberry32 of Tommy Ettinger. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Moves on by `ms`. Each due timer fires at its time, after all effects of the previous ones. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await turn();
    while (await this.fireNext(until)) {
      // The next timer may have been set by this one.
    }
    this.time = until;
    await turn();
  }

  /** Fires the next timer, at most at `until`. Returns whether there was one. */
  async fireNext(until: number = Infinity): Promise<boolean> {
    let next: Pending | undefined;
    for (const each of this.pending.values()) {
      if (each.at <= until && (!next || each.at < next.at || (each.at === next.at && each.order < next.order))) {
        next = each;
      }
    }
    if (!next) {
      return false;
    }
    this.time = Math.max(this.time, next.at);
    this.fire(next);
    await turn();
    return true;
  }

  /**
   * Moves to a time like a process that slept until then. Each timer that came due fires once, at that time.
   *
   * @param untilMs by this clock
   */
  async jump(untilMs: number): Promise<void> {
    const due = [...this.pending.values()].filter(({ at }) => at <= untilMs);
    this.time = Math.max(this.time, untilMs);
    for (const timer of due.toSorted((a, b) => a.at - b.at || a.order - b.order)) {
      if (this.pending.has(timer)) {
        timer.at = this.time; // missed turns are not made up
        this.fire(timer);
        await turn();
      }
    }
    await turn();
  }

  private fire(timer: Pending): void {
    if (timer.everyMs === undefined) {
      this.pending.delete(timer);
    } else {
      timer.at += timer.everyMs;
      timer.order = this.order++;
    }
    timer.task();
  }

  private add(task: () => void, ms: number, everyMs?: number): Timer {
    const timer: Pending = { at: this.time + ms, order: this.order++, task, everyMs, unref: () => timer };
    this.pending.set(timer, timer);
    return timer;
  }
}

// The real time of the process, for waits on code that a virtual clock does not move. The functions are saved when this
// file is loaded, so that a test runner's fake timers do not stop it.

const later = setImmediate;
const start = setTimeout;
const stop = clearTimeout;

/** Resolves once promises and ticks have nothing more to do. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void later(resolve));
}

/** Resolves with true when the promise does, or with false after `ms` of real time. */
export async function inRealTime(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = start(() => resolve(false), ms);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  stop(timer);
  return inTime;
}
