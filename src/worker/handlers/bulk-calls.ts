import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { show } from '../../queue/errors/show.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { type HandlerFunction, type ResolvedBulk, type BulkCall, outcomeOf } from './handler.js';
import type { Job } from './job.js';

/** The part of the queue runner that a gatherer uses. */
export interface BulkOwner {
  readonly clock: Clock;
  /** `hasSlot` is true if another call may begin. `claimsNoMore`: until one of the waiting calls has begun. */
  readonly capacity: { readonly hasSlot: boolean; readonly claimsNoMore: boolean };
  /** `settle` sends ended jobs before waiting jobs begin. */
  readonly host: { settle(): void };
  begin(attempt: BulkMember, waitedMs?: number): void;
  release(attempt: BulkMember): void;
  /** Called when a call begins. */
  callBegins(): void;
  /** Called before a call ends, while it still counts. */
  callEnds(): void;
  /** Called when a call has ended, and its slot is free. */
  callEnded(): void;
}

interface Gathered {
  attempt: BulkMember;
  askedAtMs: number;
  sinceMs: number;
  isSure: boolean;
}

/** The key of the shared line without groups, and of the jobs without a group. */
const NO_GROUP = '';

/**
 * Gathers the claimed jobs of one bulk handler into calls. A call has `size` jobs. It has fewer once the first has waited
 * `waitMs`, or if no further job is claimed before it begins.
 */
export class BulkGatherer {
  /** The jobs that wait for a call, by group if a call is of one group. The longest wait is first. */
  private readonly lines = new Map<string, Gathered[]>();
  private readonly runs = new WeakMap<Job, BulkRun>();
  private readonly begun = new Set<BulkMember>();
  private timer: Timer | undefined;
  private runningCalls = 0;
  /** The handler of each attempt: it joins a call. */
  readonly handle: HandlerFunction;

  constructor(
    private readonly bulk: ResolvedBulk,
    private readonly owner: BulkOwner,
  ) {
    this.handle = bulk.around((job) => this.join(job));
  }

  get size(): number {
    return this.bulk.size;
  }

  /** True if all jobs of a call are of one group. */
  get isByGroup(): boolean {
    return this.bulk.by === 'group';
  }

  /** The number of running calls. */
  get calls(): number {
    return this.runningCalls;
  }

  /** The number of jobs that wait for their call. */
  get gathered(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /** Returns the minimum number of calls for the waiting jobs. */
  get neededCalls(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + Math.ceil(line.length / this.bulk.size), 0);
  }

  /** True if jobs wait only for a slot. */
  get hasDue(): boolean {
    return [...this.lines.values()].some((line) => this.isDue(line));
  }

  /** The number of jobs in running calls. */
  get running(): number {
    return this.begun.size;
  }

  /** @param isSure whether its claim is certainly current */
  add(attempt: BulkMember, askedAtMs: number, isSure: boolean): void {
    const key = (this.isByGroup ? attempt.job.group : undefined) ?? NO_GROUP;
    const line = this.lines.get(key) ?? [];
    line.push({ attempt, askedAtMs, sinceMs: this.owner.clock.monotonic(), isSure });
    this.lines.set(key, line);
  }

  /** Begins the due calls, as far as slots are free. */
  readonly beginDue = (): void => {
    for (let due = this.takeDue(); due; due = this.takeDue()) {
      this.call(due);
    }
    this.watch();
  };

  /** Releases the waiting jobs, and stops their timers. */
  releaseWaiting(): void {
    const waiting = [...this.lines.values()].flat();
    this.lines.clear();
    waiting.forEach(({ attempt }) => this.owner.release(attempt));
    this.watch();
  }

  left(attempt: BulkMember): void {
    this.begun.delete(attempt);
    this.runs.get(attempt.job)?.left(attempt);
  }

  /** Returns the jobs of the next due call. */
  private takeDue(): Gathered[] | undefined {
    const [key, line] = this.owner.capacity.hasSlot
      ? ([...this.lines].find(([, each]) => this.isDue(each)) ?? [])
      : [];
    const due = line?.splice(0, this.bulk.size);
    if (line?.length === 0) {
      this.lines.delete(key!);
    }
    return due;
  }

  private isDue(line: readonly Gathered[]): boolean {
    const [first] = line;
    return (
      first !== undefined &&
      (line.length >= this.bulk.size ||
        this.waitedMs(first) >= this.bulk.waitMs ||
        this.owner.capacity.claimsNoMore)
    );
  }

  private waitedMs({ sinceMs }: Gathered): number {
    return this.owner.clock.monotonic() - sinceMs;
  }

  /** Sets the timer for the next call. A due call needs no timer, only a slot. */
  private watch(): void {
    const { clock } = this.owner;
    clock.clear(this.timer);
    this.timer = undefined;
    const early = [...this.lines.values()].filter((line) => !this.isDue(line));
    if (early.length > 0) {
      const longest = Math.max(...early.map(([first]) => this.waitedMs(first!)));
      // Timers may be a part of a millisecond early.
      this.timer = clock.setTimeout(this.beginDue, Math.ceil(this.bulk.waitMs - longest) + 1);
    }
  }

  private call(gathered: readonly Gathered[]): void {
    const attempts = gathered.map(({ attempt }) => attempt).filter((attempt) => !attempt.isEnded);
    if (attempts.length > 0) {
      this.runningCalls++;
      const run = new BulkRun(attempts, this.bulk, () => this.onEnd());
      attempts.forEach((attempt) => {
        this.runs.set(attempt.job, run);
        this.begun.add(attempt);
      });
      this.owner.host.settle();
      this.owner.callBegins();
    }
    const now = this.owner.clock.monotonic();
    for (const { attempt, askedAtMs, sinceMs, isSure } of gathered) {
      const waited = !isSure || now - sinceMs > 1;
      this.owner.begin(attempt, waited ? now - askedAtMs : undefined);
    }
  }

  private onEnd(): void {
    this.owner.callEnds();
    this.runningCalls--;
    this.owner.callEnded();
  }

  /** Adds a job to a call. An isolated job has a separate call, at once. */
  private join(job: Job): Promise<unknown> {
    return (this.runs.get(job) ?? new BulkRun([], this.bulk, () => undefined)).join(job);
  }
}

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
class BulkRun implements BulkCall {
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
