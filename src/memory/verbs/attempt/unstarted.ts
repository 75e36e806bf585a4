// The mark of a claimed job that has not started; see lua/attempt/start.lua.
import type { Hash } from '../../state/memory-queue.js';

type Mark = '1' | 'uncharged' | 'refused';

/** Returns the field of the mark. Each claim has its own, so that a late call changes no other claim. */
function unstartedField(fence: string | undefined): string {
  return `unstarted:${fence ?? ''}`;
}

/** Marks the job of the current claim as unstarted, as started without a charge, or as refused by the claim. */
export function mark(job: Hash, as: Mark = '1'): void {
  job[unstartedField(job.fence)] = as;
}

export function isMarked(job: Hash): boolean {
  return job[unstartedField(job.fence)] !== undefined;
}

/** Returns whether the job is unstarted. A job that started uncharged has another mark. */
export function isUnstarted(job: Hash): boolean {
  return job[unstartedField(job.fence)] === '1';
}

/** Removes the mark. Returns it, or undefined if the job had none. */
export function removeMark(job: Hash): Mark | undefined {
  const had = job[unstartedField(job.fence)] as Mark | undefined;
  delete job[unstartedField(job.fence)];
  return had;
}
