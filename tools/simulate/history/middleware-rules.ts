// The way of an attempt through its middleware.
import type { Job } from '#worker/handlers/job.js';
import type { Fault } from './known.js';

/** The middleware of producers, the first outermost. */
export const ENQUEUE_MARKS = ['a', 'b'] as const;

/** The mark of a job that passed both. */
const BOTH_MARKS = ENQUEUE_MARKS.join('');

/** The message of an attempt that the middleware fails before its handler begins. */
export const MIDDLEWARE_THROWS = 'the middleware throws';

/** The ways of an attempt: from the outermost middleware in, and out again. It may throw before the next one. */
const WAYS = ['outer inner -inner -outer', 'outer -outer'];

export class MiddlewareRules {
  private readonly ways = new WeakMap<Job, string[]>();
  private readonly isMarked = new Set<string>();

  constructor(private readonly fault: Fault) {}

  /** Called before a process with middleware enqueues the job. */
  sent(id: string): void {
    this.isMarked.add(id);
  }

  enters(name: string, job: Job): void {
    this.ways.set(job, [...(this.ways.get(job) ?? []), name]);
  }

  /** Checks that each middleware acts once around an attempt, the first outermost. */
  leaves(name: string, job: Job): void {
    const way = [...(this.ways.get(job) ?? []), `-${name}`];
    this.ways.set(job, way);
    if (!WAYS.some((each) => each.startsWith(way.join(' ')))) {
      this.fault(`middleware: an attempt of ${job.id} went ${way.join(' ')}`);
    }
  }

  /** Checks that each middleware acts once on an enqueue, so its job has each mark once. */
  started({ id, metadata }: Pick<Job, 'id' | 'metadata'>): void {
    if (this.isMarked.has(id) && metadata.marks !== BOTH_MARKS) {
      this.fault(`middleware: ${id} began with the marks "${metadata.marks ?? ''}"`);
    }
  }
}
