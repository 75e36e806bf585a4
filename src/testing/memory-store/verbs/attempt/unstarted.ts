// The mark of a claimed job that has not started; see lua/attempt/start.lua.
import { unstartedField } from '../../../../queue/replies/decode-job.js';
import type { Hash } from '../../state/memory-queue.js';

/** Marks the job of the current claim as unstarted, or as started without a charge. */
export function mark(job: Hash, as: '1' | 'uncharged' = '1'): void {
  job[unstartedField(job.fence)] = as;
}

export function isMarked(job: Hash): boolean {
  return job[unstartedField(job.fence)] !== undefined;
}

/** Removes the mark. Returns whether the job had it. */
export function removeMark(job: Hash): boolean {
  const had = isMarked(job);
  delete job[unstartedField(job.fence)];
  return had;
}
