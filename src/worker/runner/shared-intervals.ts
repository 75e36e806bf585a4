import type { Clock, Timer } from '../../queue/runtime/clock.js';

/** Tasks that run together, and the timer that runs them. */
interface SharedInterval {
  readonly timer: Timer;
  readonly tasks: Set<() => void>;
}

/** Intervals of many tasks: those of the same length share a timer. Each timer would wake an idle process by itself. */
export class SharedIntervals {
  private readonly intervals = new Map<number, SharedInterval>();

  constructor(private readonly clock: Clock) {}

  /** Runs a task at each interval of this length, until the returned function is called. */
  every(ms: number, task: () => void): () => void {
    const { timer, tasks } = this.intervals.get(ms) ?? this.begin(ms);
    tasks.add(task);
    return () => {
      tasks.delete(task);
      if (tasks.size === 0) {
        this.clock.clear(timer);
        this.intervals.delete(ms);
      }
    };
  }

  private begin(ms: number): SharedInterval {
    const tasks = new Set<() => void>();
    const timer = this.clock.setInterval(() => [...tasks].forEach((task) => task()), ms);
    const interval = { timer, tasks };
    this.intervals.set(ms, interval);
    return interval;
  }
}
