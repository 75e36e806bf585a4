import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { ShutdownError, type Job } from 'nest-job-queue';
import { logLine } from '../log-line.js';
import { labelOf } from '../jobs/label.js';
import type { Conditions, FromWorker, ToWorker } from './messages.js';

const NONE: Conditions = { latencyMs: 0, failRate: 0, hangRate: 0 };

/**
 * The trouble from the control page: slow work, failing work, and work that never ends. Processes that the page did not
 * start have none.
 */
@Injectable()
export class Trouble {
  private readonly logger = new Logger(Trouble.name);
  private conditions: Conditions = process.env.SHOP_CONDITIONS
    ? (JSON.parse(process.env.SHOP_CONDITIONS) as Conditions)
    : NONE;

  constructor() {
    if (process.send) {
      process.on('message', (message: Partial<ToWorker>) => this.hear(message));
    }
  }

  /** Runs a job's work, unless its attempt is drawn to fail or to hang. */
  async around<Result>(job: Job, work: () => Promise<Result>): Promise<Result> {
    const { latencyMs, failRate, hangRate } = this.conditionsOf(job);
    const draw = Math.random();
    const { id, name, attempt } = job;
    void tell({ type: 'began', id, name, label: labelOf(job), attempt });
    try {
      if (draw < hangRate) {
        await this.freeze(id, name);
      }
      await wait(latencyMs, undefined, { signal: job.signal });
      if (draw < hangRate + failRate) {
        throw new Error('Failed on purpose: the failure rate of the control page.');
      }
      const result = await work();
      void tell({ type: 'ended', id, outcome: 'completed' });
      return result;
    } catch (error) {
      const released = job.signal.reason instanceof ShutdownError;
      void tell({ type: 'ended', id, outcome: released ? 'released' : 'failed' });
      throw error;
    }
  }

  /**
   * Returns the conditions of a job. A job of the show sets its own times, and succeeds unless its worker is
   * killed.
   */
  private conditionsOf({ payload, attempt }: Job): Conditions {
    const { pace } = (payload ?? {}) as { pace?: { firstMs: number; againMs: number } };
    if (!pace) return this.conditions;
    if (attempt === 1) return { ...NONE, latencyMs: pace.firstMs };
    return { ...this.conditions, latencyMs: Math.max(this.conditions.latencyMs, pace.againMs) };
  }

  /**
   * Freezes the whole process like an endless loop or a deadlock: no heartbeat, no reply, no exit at SIGTERM. Its claim
   * expires, another process takes the job over, and the supervisor must kill this one.
   */
  private async freeze(id: string, name: string): Promise<void> {
    this.logger.warn(logLine`${id}: hangs, and this process with it`);
    await tell({ type: 'hangs', id, name });
    const cell = new Int32Array(new SharedArrayBuffer(4));
    // Ends with the shop that started this process, because nothing else would kill it.
    for (const parent = process.ppid; process.ppid === parent;) Atomics.wait(cell, 0, 0, 1_000);
    process.kill(process.pid, 'SIGKILL');
  }

  private hear({ type, conditions }: Partial<ToWorker>): void {
    if (type === 'conditions' && conditions) {
      this.conditions = conditions;
    }
  }
}

/** Resolves when the message is sent, even without a receiver. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
}
