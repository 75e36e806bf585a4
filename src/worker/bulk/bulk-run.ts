import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { show } from '../../queue/errors/show.js';
import { type BulkCall, outcomeOf, type ResolvedBulk } from '../handlers/bulk-handler.js';
import type { Job } from '../handlers/job.js';

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
    const texts = jobs.flatMap((job) => job.texts ?? []);
    texts.forEach((each) => each.shareErrors(texts));
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

/**
 * Returns the outcome of each job, in order, from the return value of a bulk handler.
 *
 * @throws TypeError for an invalid list of outcomes
 */
function outcomesOf(jobs: readonly Job[], returned: unknown): unknown[] {
  if (returned === undefined) {
    return jobs.map(() => undefined);
  }
  if (returned instanceof Map) {
    refuseStrangers(jobs, returned);
    return jobs.map((job, i) => outcomeOf(returned, job, i));
  }
  if (Array.isArray(returned) && returned.length === jobs.length) {
    return returned as unknown[];
  }
  const found = Array.isArray(returned) ? `an array of ${returned.length}` : shown(jobs, returned);
  throw new TypeError(
    `A bulk handler returns nothing, an array of one outcome for each of its ${jobs.length} jobs, or a Map by job or id; ` +
      `found ${found}.`,
  );
}

/** Refuses unknown ids. A misspelled id would complete the job that failed. */
function refuseStrangers(jobs: readonly Job[], outcomes: ReadonlyMap<unknown, unknown>): void {
  const known = new Set<unknown>(jobs.flatMap((job) => [job, job.id]));
  for (const key of outcomes.keys()) {
    if (!known.has(key)) {
      throw new TypeError(
        `A bulk handler returned an outcome for ${shown(jobs, key)}, which is no job of its call.`,
      );
    }
  }
}

/** Returns a value for an error, without what `redact` hides of the result or of any payload of the call. */
function shown(jobs: readonly Job[], value: unknown): string {
  const hiding = jobs[0]?.hiding('result');
  return jobs.reduce((text, job) => job.shownText(text), show(hiding ? hiding.visible(value) : value));
}

function isError(value: unknown): value is Error {
  // an Error of another realm
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
