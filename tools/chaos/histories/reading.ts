// The state of reading the histories: the current file, the instant, and the jobs so far.
import { Jobs } from './jobs.js';

export class Reading {
  /** The number of the process whose file is read. */
  process = 0;
  /** Ms of the monotonic clock. */
  nowMs = 0;
  readonly jobs = new Map<number, Jobs>();
  private readonly forgetful: { fromMs: number; toMs: number }[] = [];

  /** The time when the server lost all of its data, or `-Infinity`. */
  lostAllMs = -Infinity;

  /** True if an acknowledgement of now lasts: a dying master loses what its replica has not received. */
  get sure(): boolean {
    return !this.mayForget(this.nowMs, this.nowMs);
  }

  /** True if the current data is lost later with all the rest. */
  get isLost(): boolean {
    return this.nowMs <= this.lostAllMs;
  }

  /** Returns whether a server may have lost an acknowledged write between these two instants. */
  mayForget(sinceMs: number, untilMs: number): boolean {
    return this.forgetful.some(({ fromMs, toMs }) => fromMs <= untilMs && sinceMs <= toMs);
  }

  /** Marks acknowledgements between these two instants as possibly lost. */
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
