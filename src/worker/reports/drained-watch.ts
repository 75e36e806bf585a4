import type { JobQueue } from '../../queue/job-queue.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';

/** Publishes once that the queue is drained, after this worker's jobs have ended and a claim found no other. */
export class DrainedWatch {
  private hasEnded = false;
  private isAsking = false;

  private constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly warn: (message: string) => void,
  ) {}

  /** Returns undefined if the queue does not ask for the event. */
  static of(queue: JobQueue, calls: StoreCalls, warn: (message: string) => void): DrainedWatch | undefined {
    const { events, eventExtras } = queue.options;
    return eventExtras?.drained && events !== 'off' ? new DrainedWatch(queue, calls, warn) : undefined;
  }

  jobEnded(): void {
    this.hasEnded = true;
  }

  /** @param known how many jobs a claim found, and this worker has */
  claimed(known: number): void {
    if (known === 0 && this.hasEnded && !this.isAsking) {
      this.isAsking = true;
      void this.ask().finally(() => (this.isAsking = false));
    }
  }

  private async ask(): Promise<void> {
    try {
      this.hasEnded = false;
      const reply = await this.queue.store.exec(this.calls.publishDrained(), { timeoutMs: LONGEST_TRIP_MS });
      // This worker's settlement may be in flight, or another worker may run jobs, so the next idle moment asks again.
      this.hasEnded ||= reply === 'busy';
    } catch (error) {
      this.hasEnded = true;
      this.warn(`Could not publish that queue "${this.queue.name}" has drained: ${(error as Error).message}`);
    }
  }
}
