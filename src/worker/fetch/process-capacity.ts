import type { Isolation } from '../attempt/crash-isolation.js';
import type { Lane } from '../attempt/queue-runner.js';

/** What the process as a whole leaves of the slots of its lanes: by a limit of its own, and while a job runs alone. */
export class ProcessSlots {
  constructor(
    private readonly limit: number | undefined,
    private readonly lanes: () => readonly Lane[],
    private readonly isolation: Isolation,
  ) {}

  /** How many more jobs may be claimed. */
  readonly capacity = (): number => {
    if (this.isolation.isActive) {
      return 0;
    }
    if (this.limit === undefined) {
      return Infinity;
    }
    return this.limit - this.lanes().reduce((sum, lane) => sum + lane.attempts.size + lane.claiming, 0);
  };

  /** Whether there is nothing to claim for. */
  get isFull(): boolean {
    const lanes = this.lanes();
    const claimed = lanes.reduce((sum, lane) => sum + lane.attempts.size, 0);
    return this.isolation.isActive || claimed >= (this.limit ?? Infinity) || lanes.every((lane) => lane.isFull);
  }
}
