// The mark of a claimed job that has not started; see lua/attempt/start.lua.
import type { Hash } from '../../state/memory-queue.js';

/** Returns the field of the mark. Each claim has its own, so that a late call changes no other claim. */
function unstartedField(fence: string | undefined): string {
  return `unstarted:${fence ?? ''}`;
}

/** Marks the job of the current claim as unstarted, or as started without a charge. */
export function mark(job: Hash, as: '1' | 'uncharged' = '1'): void {
  job[unstartedField(job.fence)] = as;
}

export function isMarked(job: Hash): boolean {
  return job[unstartedField(job.fence)] !== undefined;
}

/** Returns whether the job is unstarted. A job that started uncharged has another mark. */
export function isUnstarted(job: Hash): boolean {
  return job[unstartedField(job.fence)] === '1';
}

/** Removes the mark. Returns whether the job had it. */
export function removeMark(job: Hash): boolean {
  const had = isMarked(job);
  delete job[unstartedField(job.fence)];
  return had;
}
