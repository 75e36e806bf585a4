import { Injectable } from '@nestjs/common';

/** The number of jobs for which it is remembered. */
const REMEMBERED = 1_000;

/** Counts failed attempts and expired claims by job. */
@Injectable()
export class Troubles {
  private readonly jobs = new Map<string, { count: number; waiting?: { count: number; tell: () => void } }>();

  happened(id: string): void {
    const job = this.of(id);
    job.count += 1;
    const { waiting } = job;
    if (waiting && job.count >= waiting.count) {
      job.waiting = undefined;
      waiting.tell();
    }
  }

  /**
   * Adds the line at once, or after the previous trouble. Workers and Redis report separately, but the story must keep
   * the order of events.
   */
  after(id: string, count: number, tell: () => void): void {
    const job = this.of(id);
    if (job.count >= count) tell();
    else job.waiting = { count, tell };
  }

  /** Returns whether an ended job had trouble. */
  forget(id: string): boolean {
    return this.jobs.delete(id);
  }

  private of(id: string) {
    let job = this.jobs.get(id);
    if (!job) {
      job = { count: 0 };
      this.jobs.set(id, job);
      const [oldest] = this.jobs.keys();
      if (this.jobs.size > REMEMBERED && oldest !== undefined) this.jobs.delete(oldest);
    }
    return job;
  }
}
