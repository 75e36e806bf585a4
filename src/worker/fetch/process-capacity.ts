import type { CrashIsolation } from '../runner/crash-isolation.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** Divides the slots of the process among the runners: by its own limit, and while a job runs alone. */
export class ProcessCapacity {
  constructor(
    private readonly limit: number | undefined,
    private readonly runners: () => readonly QueueRunner[],
    private readonly isolation: CrashIsolation,
  ) {}

  /** Returns how many more jobs may be claimed. */
  readonly capacity = (): number => {
    if (this.isolation.isActive) {
      return 0;
    }
    if (this.limit === undefined) {
      return Infinity;
    }
    return this.limit - this.runners().reduce((sum, runner) => sum + runner.capacity.used, 0);
  };

  /** Returns whether there is nothing to claim for. */
  get isFull(): boolean {
    const runners = this.runners();
    const claimed = runners.reduce(
      (sum, { capacity, attempts }) => sum + (capacity.perSlot > 1 ? capacity.used : attempts.size),
      0,
    );
    return (
      this.isolation.isActive ||
      claimed >= (this.limit ?? Infinity) ||
      runners.every((runner) => runner.capacity.isFull)
    );
  }
}
