// A process with a worker: how it starts and ends, and whether it runs.
import type { Worker } from '#worker/worker.js';
import { SimulatedProcess } from './process.js';

export abstract class WorkerProcess extends SimulatedProcess {
  protected worker: Worker | undefined;
  private isReady = false;

  protected begin(worker: Worker): void {
    this.worker = worker;
    void worker.start().then(() => (this.isReady = true));
  }

  /** Ends it as a deploy does: its jobs have some time to end, and go back after it. */
  async stop(): Promise<void> {
    this.isReady = false;
    await this.worker?.stop({ timeoutMs: 1_000 });
    this.kill();
  }

  /** Ends it, and the watch by which the real process would note its death: the real process lives on. */
  override kill(): void {
    super.kill();
    this.worker?.['loops']?.['endDeathWatch']?.();
  }

  /** True if it runs, so that its looks and its maintenance are due. */
  get isUp(): boolean {
    return this.isReady && !this.clock.isDead && !this.clock.isFrozen;
  }
}
