import { setMaxListeners } from 'node:events';
import { AsyncResource } from 'node:async_hooks';
import type { Job } from '../handlers/job.js';
import type { BulkCall, ResolvedBulk } from '../handlers/bulk-handler.js';
import { isError, outcomesOf } from './bulk-outcomes.js';

/** An attempt, as far as a call knows it. */
export interface BulkMember {
  readonly job: Job;
  readonly isEnded: boolean;
}

interface Joined {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * A call of a bulk handler. Each of its jobs is an attempt with its own claim, signal, timeout and end. The handler of
 * each attempt joins the call and ends with its job's outcome. The call starts when all jobs that can still start have
 * joined.
 */
export class BulkRun implements BulkCall {
  private readonly joined = new Map<Job, Joined>();
  private readonly expected: Set<Job>;
  /** The jobs in the order of their claims; of a job that runs alone empty. */
  private readonly order: readonly Job[];
  private controller: AbortController | undefined;
  private began = false;

  /** @param onEnd called once, when the handler has returned */
  constructor(
    attempts: readonly BulkMember[],
    private readonly bulk: ResolvedBulk,
    private readonly onEnd: () => void,
  ) {
    this.order = attempts.map(({ job }) => job);
    this.expected = new Set(this.order);
  }

  /** Starts the job, and resolves with its result. */
  join(job: Job): Promise<unknown> {
    const outcome = new Promise<unknown>((resolve, reject) => this.joined.set(job, { resolve, reject }));
    this.forget(job);
    return outcome;
  }

  /** Removes an attempt that has ended, so that the call does not wait for it to join. */
  left({ job }: BulkMember): void {
    if (this.expected.has(job)) {
      this.forget(job);
    }
  }

  private forget(job: Job): void {
    this.expected.delete(job);
    if (this.expected.size === 0 && !this.began) {
      this.began = true;
      void new AsyncResource('nest-job-queue bulk call').runInAsyncScope(() => this.run());
    }
  }

  private async run(): Promise<void> {
    const order = this.order.length > 0 ? this.order : [...this.joined.keys()];
    const jobs = order.filter((job) => this.joined.has(job));
    try {
      if (jobs.length > 0) {
        const outcomes = outcomesOf(jobs, await this.bulk.call(jobs, this));
        jobs.forEach((job, i) => this.end(job, outcomes[i]));
      }
    } catch (error) {
      this.joined.forEach(({ reject }) => reject(error));
    } finally {
      this.onEnd();
    }
  }

  private end(job: Job, outcome: unknown): void {
    const { resolve, reject } = this.joined.get(job)!;
    if (isError(outcome)) {
      reject(outcome);
    } else {
      resolve(outcome);
    }
  }

  /** Created on first use, so that a handler that ignores it costs nothing more. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      setMaxListeners(0, this.controller.signal); // it ends with the call, so Node's warning of a leak would be wrong
      const abortWithAll = () => {
        const reasons = [...this.joined.keys()].map(({ abortReason }) => abortReason);
        if (reasons.every((reason) => reason)) {
          this.controller!.abort(reasons.at(-1));
        }
      };
      this.joined.forEach((_joined, { signal }) => signal.addEventListener('abort', abortWithAll, { once: true }));
      abortWithAll();
    }
    return this.controller.signal;
  }
}
