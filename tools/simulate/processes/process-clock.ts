// The clock of a simulated process: its wall clock is wrong, and it can be frozen or killed.
import type { Clock, Timer } from '#queue/runtime/clock.js';
import type { VirtualClock } from '#testing/time/virtual-clock.js';

interface ProcessTimer extends Timer {
  inner: Timer;
  repeats: boolean;
}

export class ProcessClock implements Clock {
  private dead = false;
  private frozen = false;
  private readonly timers = new Set<ProcessTimer>();
  /** Tasks that came due while the process was frozen. */
  private held: (() => void)[] = [];

  /** @param skewMs by how much the wall clock is ahead of the server's */
  constructor(
    private readonly world: VirtualClock,
    private readonly skewMs: number,
  ) {}

  get isDead(): boolean {
    return this.dead;
  }

  get isFrozen(): boolean {
    return this.frozen;
  }

  now = () => this.world.now() + this.skewMs;
  monotonic = () => this.world.monotonic();
  randomId = () => this.world.randomId();
  random = () => this.world.random();

  soon(task: () => void): void {
    this.world.soon(() => this.run(task));
  }

  afterReads(task: () => void): void {
    this.soon(task);
  }

  setTimeout(task: () => void, ms: number): Timer {
    const timer = this.timerOf(false);
    timer.inner = this.world.setTimeout(() => {
      this.timers.delete(timer);
      this.run(task);
    }, ms);
    return timer;
  }

  setInterval(task: () => void, ms: number): Timer {
    const timer = this.timerOf(true);
    timer.inner = this.world.setInterval(() => this.run(task), ms);
    return timer;
  }

  clear(timer: Timer | undefined): void {
    const mine = timer as ProcessTimer | undefined;
    if (mine && this.timers.delete(mine)) {
      this.world.clear(mine.inner);
    }
  }

  /** Runs a task of the process now, after the freeze, or never. */
  run(task: () => void): void {
    if (this.dead) {
      return;
    }
    if (this.frozen) {
      this.held.push(task);
    } else {
      task();
    }
  }

  freeze(): void {
    this.frozen = true;
  }

  thaw(): void {
    this.frozen = false;
    this.held.splice(0).forEach((task) => this.run(task));
  }

  kill(): void {
    this.dead = true;
    this.held = [];
    this.timers.forEach((timer) => this.world.clear(timer.inner));
    this.timers.clear();
  }

  private timerOf(repeats: boolean): ProcessTimer {
    const timer: ProcessTimer = { inner: undefined!, repeats, unref: () => timer };
    this.timers.add(timer);
    return timer;
  }
}
