import { splitRef } from '../../../queue/store/job-ref.js';
import type { UnmetJob } from '../../../queue/store/claim-refusal.js';
import type { Hash } from '../../state/memory-queue.js';

/** Returns the job that should have ended well before this one. */
export function unmetOf({ unmet }: Hash): UnmetJob | undefined {
  if (unmet === undefined) {
    return undefined;
  }
  const blank = unmet.lastIndexOf(' ');
  return { job: splitRef('', unmet.slice(0, blank)), status: unmet.slice(blank + 1) };
}
