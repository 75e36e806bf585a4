import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { HandlerFunction } from '../handlers/handler.js';
import type { Job } from '../handlers/job.js';
import type { ResolvedBulk } from '../handlers/bulk-handler.js';
import { BulkRun, type BulkMember } from './bulk-run.js';

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
