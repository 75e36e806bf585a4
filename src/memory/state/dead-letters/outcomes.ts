import type { JobOutcome } from '../../../queue/model/job-event.js';
import type { ResolvedQueueOptions } from '../../../queue/model/queue-options.js';

/** The fields of a job, with the names and the encoding of Redis. */
type Fields = Readonly<Record<string, string>>;

/** The part of a queue that its outcomes use. */
interface EndingQueue {
  readonly name: string;
  readonly now: number;
  readonly options: Pick<ResolvedQueueOptions, 'outcomes'>;
  job(id: string): Fields | undefined;
}

type Line = Pick<JobOutcome, 'name' | 'status' | 'at' | 'attempts'>;

/** The lines of ended jobs that expire together. */
interface Lines {
  of: Map<string, Line>;
  expiresAt: number;
}

/** One line for each ended job, in two generations; see lua/lib/audit/outcomes.lua. */
export class Outcomes {
  /** The generation that gets the new lines, then the older one. */
  private generations: Lines[] = [];

  /** Adds the line of a job that has just ended. */
  add(queue: EndingQueue, id: string, status: JobOutcome['status'], job: Fields): void {
    const { outcomes } = queue.options;
    if (outcomes) {
      const at = Number(job[`${status}_at_ms`] ?? queue.now);
      const attempts = Number(job.attempts ?? 0);
      this.newer(queue.now, outcomes).set(id, { name: job.name ?? queue.name, status, at: new Date(at), attempts });
    }
  }

  /** Adds the line of a dead letter that retention deletes, unless it has one. */
  addDropped(queue: EndingQueue, id: string): void {
    const job = queue.job(id);
    if (job && !this.get(queue.now, id)) {
      this.add(queue, id, 'failed', job);
    }
  }

  get(now: number, id: string): Line | undefined {
    return this.live(now)
      .find(({ of }) => of.has(id))
      ?.of.get(id);
  }

  delete(id: string): void {
    this.generations.forEach(({ of }) => of.delete(id));
  }

  clear(): void {
    this.generations = [];
  }

  private live(now: number): Lines[] {
    this.generations = this.generations.filter(({ expiresAt }) => expiresAt > now);
    return this.generations;
  }

  private newer(now: number, { cap, ageMs }: { cap: number; ageMs: number }): Lines['of'] {
    const [newer] = this.live(now);
    if (newer && newer.expiresAt - now > ageMs && newer.of.size < cap / 2) {
      return newer.of;
    }
    const next = { of: new Map<string, Line>(), expiresAt: now + 2 * ageMs };
    this.generations = [next, ...(newer ? [newer] : [])];
    return next.of;
  }
}
