import { setTimeout as sleep } from 'node:timers/promises';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobRecord } from '../queue/model/job.js';

/** How long redriven jobs are followed, and the time between two looks, in ms. */
const LONGEST_FOLLOW_MS = 30_000;
const LOOK_MS = 500;
const ENDED: ReadonlySet<JobRecord['status']> = new Set(['completed', 'failed', 'cancelled']);

/** A redriven job, and the queue or shard that has it. */
interface RedrivenJob {
  queue: JobQueue;
  id: string;
}

/** How redriven jobs ended so far. */
export interface RedrivenEnds {
  completed: number;
  failed: readonly JobRecord[];
  /** The number of jobs whose record is gone, such as completed ones of a queue that keeps none. */
  gone: number;
  /** The number of jobs that have not ended yet. */
  open: number;
}

/** Looks at redriven jobs until all have ended, at most for 30 s. Yields what is known after each look. */
export async function* endsOf(
  redriven: readonly RedrivenJob[],
  signal?: AbortSignal,
): AsyncGenerator<RedrivenEnds, void> {
  const until = performance.now() + LONGEST_FOLLOW_MS;
  const failed: JobRecord[] = [];
  let [completed, gone, open] = [0, 0, redriven];
  for (;;) {
    const jobs = await Promise.all(open.map(({ queue, id }) => queue.get(id)));
    completed += jobs.filter((job) => job?.status === 'completed').length;
    gone += jobs.filter((job) => job === null).length;
    failed.push(...jobs.flatMap((job) => (job?.status === 'failed' ? [job] : [])));
    open = open.filter((_, i) => jobs[i] && !ENDED.has(jobs[i].status));
    yield { completed, failed, gone, open: open.length };
    if (open.length === 0 || performance.now() > until) {
      return;
    }
    if (!(await sleep(LOOK_MS, true, { ...(signal && { signal }) }).catch(() => false))) {
      return;
    }
  }
}
