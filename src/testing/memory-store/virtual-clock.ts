import type { Clock, Timer } from '../../queue/model/clock.js';

interface Pending {
  at: number;
  order: number;
  task: () => void;
  everyMs?: number;
}

/**
 * A clock that stands until it is moved, with random numbers from a seed: what runs by it runs the same each time.
 *
 * @example
 * const clock = new VirtualClock();
 * await clock.advance(60_000); // all timers of the next minute fire, in their order
 */
export class VirtualClock implements Clock {
  private readonly pending = new Set<Pending>();
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

  clear(timer: Timer | undefined): void {
    this.pending.delete(timer as unknown as Pending);
  }

  randomId(): string {
    const part = () =>
      Math.floor(this.random() * 2 ** 32)
        .toString(36)
        .padStart(7, '0');
    return (part() + part()).slice(0, 11);
  }

  /** Mulberry32, by Tommy Ettinger. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Moves on by `ms`: each timer that comes due fires at its time, once all that follows from those before has happened. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await settled();
    while (await this.fireNext(until)) {
      // The next timer may have been set by this one.
    }
    this.time = until;
    await settled();
  }

  /** Fires the next timer, at most at `until`. Returns whether there was one. */
  async fireNext(until: number = Infinity): Promise<boolean> {
    let next: Pending | undefined;
    for (const each of this.pending) {
      if (each.at <= until && (!next || each.at < next.at || (each.at === next.at && each.order < next.order))) {
        next = each;
      }
    }
    if (!next) {
      return false;
    }
    this.time = Math.max(this.time, next.at);
    if (next.everyMs === undefined) {
      this.pending.delete(next);
    } else {
      next.at += next.everyMs;
      next.order = this.order++;
    }
    next.task();
    await settled();
    return true;
  }

  private add(task: () => void, ms: number, everyMs?: number): Timer {
    const timer = { at: this.time + ms, order: this.order++, task, everyMs, unref: () => timer };
    this.pending.add(timer);
    return timer;
  }
}

/** Resolves once promises and ticks have nothing more to do. */
async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
