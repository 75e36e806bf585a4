import type { JobStatus } from '../model/job.js';
import type { ReclaimedJob } from '../store/call-outcomes.js';

/** Decodes pairs of id and status. */
export function decodeReclaimed(pairs: readonly string[]): ReclaimedJob[] {
  const reclaimed: ReclaimedJob[] = [];
  for (let i = 0; i < pairs.length; i += 2) {
    reclaimed.push({ id: pairs[i]!, status: pairs[i + 1] as JobStatus });
  }
  return reclaimed;
}
