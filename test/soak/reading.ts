// Where the reading of the histories stands: whose file, when, and the jobs so far.
import { Jobs } from './jobs.js';

export class Reading {
  /** The number of the process whose file is read. */
  process = 0;
  /** Ms of the monotonic clock. */
  nowMs = 0;
  readonly jobs = new Map<number, Jobs>();
  private readonly forgetful: { fromMs: number; toMs: number }[] = [];

  /** Whether what is answered now holds: a master that dies takes with it what its replica has not heard of yet. */
  get sure(): boolean {
    return !this.forgetful.some(({ fromMs, toMs }) => fromMs <= this.nowMs && this.nowMs <= toMs);
  }

  /** What was answered between these two instants may be forgotten. */
  doubt(fromMs: number, toMs: number): void {
    this.forgetful.push({ fromMs, toMs });
  }

  of(process: number, number: number, change: (jobs: Jobs) => unknown): void {
    let jobs = this.jobs.get(process);
    if (!jobs) this.jobs.set(process, (jobs = new Jobs()));
    jobs.reach(number);
    change(jobs);
  }

  mark(process: number, number: number, mark: number): void {
    this.of(process, number, ({ marks }) => (marks[number]! |= mark));
  }
}
