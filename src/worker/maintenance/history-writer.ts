import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import type { Timer } from '../../queue/runtime/clock.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { WorkerContext } from './worker-context.js';

/** The interval at which a worker adds its measurements, in ms. A worker without an ended job sends nothing. */
const INTERVAL_MS = 10_000;
/**
 * The interval at which a worker reports its app's version, in ms. A version that was not reported for ten minutes is
 * new.
 */
const VERSION_MS = 300_000;

/** The content of one call. It keeps its id until there is a reply, so that it counts once. */
interface Batch {
  id: string;
  counts: readonly (string | number)[];
}

/**
 * Adds this worker's wait and run times to the history of its queues, one call per queue in ten seconds. Reports the
 * app's version, so that a deploy of workers without maintenance is marked too.
 */
export class HistoryWriter implements BackgroundRole {
  private timer: Timer | undefined;
  private readonly unsent = new Map<QueueRunner, Batch>();
  private readonly failing = new Set<QueueRunner>();
  private writing: Promise<unknown> | undefined;
  private ended = false;
  private versionSaidAt = -Infinity;

  constructor(private readonly worker: WorkerContext) {}

  start(): void {
    if (!this.ended && this.worker.runners.some(({ durations }) => durations)) {
      this.timer = this.worker.store.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
      void this.sayVersion();
    }
  }

  /** Adds the remaining measurements. */
  async stop(): Promise<void> {
    this.abandon();
    await this.writing;
    await this.runOnce();
  }

  /** Ends without a word to the server. */
  abandon(): void {
    this.ended = true;
    this.worker.store.clock.clear(this.timer);
  }

  /** Adds the measurements of each queue. A call during a run returns that run. */
  runOnce(): Promise<unknown> {
    this.writing ??= Promise.all([
      this.sayVersion(),
      ...this.worker.runners.map((runner) => this.writeOf(runner)),
    ]).finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async sayVersion(): Promise<void> {
    const now = this.worker.store.clock.monotonic();
    if (
      this.worker.version === '' ||
      this.ended ||
      now - this.versionSaidAt < VERSION_MS ||
      !this.worker.store.isReady
    ) {
      return;
    }
    this.versionSaidAt = now;
    const recorded = this.worker.runners.filter(({ durations }) => durations);
    await Promise.all(recorded.map((runner) => this.reportVersionTo(runner)));
  }

  private async reportVersionTo(runner: QueueRunner): Promise<void> {
    try {
      await this.worker.store.exec(
        runner.calls.history.reportVersion({ version: this.worker.version }),
        limitOf(INTERVAL_MS),
      );
    } catch (error) {
      this.warnOnce(runner, error as Error);
    }
  }

  private async writeOf(runner: QueueRunner): Promise<void> {
    try {
      for (let batch = this.nextOf(runner); batch && this.worker.store.isReady; batch = this.nextOf(runner)) {
        this.unsent.set(runner, batch);
        const call = runner.calls.history.addDurations({
          worker: this.worker.id,
          batch: batch.id,
          counts: batch.counts,
        });
        await this.worker.store.exec(call, limitOf(INTERVAL_MS));
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
      this.worker.logger.warn(`Could not add to the history of queue "${runner.name}"; trying again: ${message}`);
    }
  }

  private nextOf(runner: QueueRunner): Batch | undefined {
    const left = this.unsent.get(runner);
    const counts = left ? [] : (runner.durations?.take() ?? []);
    return left ?? (counts.length > 0 ? { id: this.worker.store.clock.randomId(), counts } : undefined);
  }
}
