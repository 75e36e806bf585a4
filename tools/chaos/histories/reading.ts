// Where the reading of the histories stands: whose file, when, and the jobs so far.
import { Jobs } from './jobs.js';

export class Reading {
  /** The number of the process whose file is read. */
  process = 0;
  /** Ms of the monotonic clock. */
  nowMs = 0;
  readonly jobs = new Map<number, Jobs>();
  private readonly forgetful: { fromMs: number; toMs: number }[] = [];

  /** When the server lost all of its data, if it did. */
  lostAllMs = -Infinity;

  /** Whether what is answered now holds: a master that dies takes with it what its replica has not heard of yet. */
  get sure(): boolean {
    return !this.mayForget(this.nowMs, this.nowMs);
  }

  /** Whether what is there now is lost later, with all else. */
  get isLost(): boolean {
    return this.nowMs <= this.lostAllMs;
  }

  /** Whether something that was answered between these two instants may be forgotten. */
  mayForget(sinceMs: number, untilMs: number): boolean {
    return this.forgetful.some(({ fromMs, toMs }) => fromMs <= untilMs && sinceMs <= toMs);
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
