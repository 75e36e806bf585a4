// The results of steps, as the attempts of a job got them.
import type { Reading } from './reading.js';

/** Collects the results of each job. The first one is recorded, and every later attempt gets it. */
export class Steps {
  /** The jobs whose attempts got different results. */
  readonly changed: string[] = [];
  private readonly first = new Map<string, { recorded: number; atMs: number }>();

  constructor(private readonly reading: Reading) {}

  add(process: number, number: number, recorded: number): void {
    const job = `${process}:${number}`;
    const { nowMs } = this.reading;
    const first = this.first.get(job);
    if (first === undefined) {
      this.first.set(job, { recorded, atMs: nowMs });
    } else if (first.recorded !== recorded && !this.isLostBetween(first.atMs, nowMs)) {
      this.changed.push(`steps: job ${job} got the result ${first.recorded} of its step, and ${recorded}`);
    }
  }

  /** Returns whether a server may have lost a record between these two instants, in either order. */
  private isLostBetween(one: number, other: number): boolean {
    const { lostAllMs } = this.reading;
    const [from, to] = [Math.min(one, other), Math.max(one, other)];
    return (from <= lostAllMs && lostAllMs <= to) || this.reading.mayForget(from, to);
  }
}
