import { limitOf } from '../../queue/runtime/bounds.js';
import type { Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** The interval in which a worker adds its measurements, in ms. A worker without an ended job sends nothing. */
const INTERVAL_MS = 10_000;

/** The content of one call. It is sent under one id until a reply came, so that it counts once. */
interface Batch {
  id: string;
  counts: readonly (string | number)[];
}

/** Adds the wait and run times of this worker to the history of its queues, one call for each queue in ten seconds. */
export class HistoryWriter {
  private timer: Timer | undefined;
  private readonly unsent = new Map<QueueRunner, Batch>();
  private readonly failing = new Set<QueueRunner>();
  private writing: Promise<unknown> | undefined;
  private ended = false;

  constructor(
    private readonly worker: string,
    private readonly runners: readonly QueueRunner[],
    private readonly store: QueueStore,
    private readonly logger: JobQueueLogger,
  ) {}

  start(): void {
    if (!this.ended && this.runners.some(({ durations }) => durations)) {
      this.timer = this.store.clock.setInterval(() => void this.write(), INTERVAL_MS);
    }
  }

  /** Adds the remaining measurements. */
  async stop(): Promise<void> {
    this.abandon();
    await this.writing;
    await this.write();
  }

  /** Ends without a word to the server. */
  abandon(): void {
    this.ended = true;
    this.store.clock.clear(this.timer);
  }

  private write(): Promise<unknown> {
    this.writing ??= Promise.all(this.runners.map((runner) => this.writeOf(runner))).finally(
      () => (this.writing = undefined),
    );
    return this.writing;
  }

  private async writeOf(runner: QueueRunner): Promise<void> {
    try {
      for (let batch = this.nextOf(runner); batch && this.store.isReady; batch = this.nextOf(runner)) {
        this.unsent.set(runner, batch);
        const call = runner.calls.history.addDurations(this.worker, batch.id, batch.counts);
        await this.store.exec(call, limitOf(INTERVAL_MS));
        this.unsent.delete(runner);
        this.failing.delete(runner);
      }
    } catch (error) {
      this.warnOnce(runner, error as Error);
    }
  }

  private warnOnce(runner: QueueRunner, { message }: Error): void {
    if (!this.failing.has(runner)) {
      this.failing.add(runner);
      this.logger.warn(
        `Could not add the times of jobs to the history of queue "${runner.name}"; trying again: ${message}`,
      );
    }
  }

  private nextOf(runner: QueueRunner): Batch | undefined {
    const left = this.unsent.get(runner);
    const counts = left ? [] : (runner.durations?.take() ?? []);
    return left ?? (counts.length > 0 ? { id: this.store.clock.randomId(), counts } : undefined);
  }
}
