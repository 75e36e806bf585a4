// Adds lines to the log of a job; see lua/attempt/log.lua.
import type { ClaimRef } from '../../../queue/model/job.js';
import type { MemoryQueue } from '../../state/memory-queue.js';

/** Adds lines, of which the last `keep` stay. Returns false if the claim is not the current one. */
export function addLines(
  queue: MemoryQueue,
  { id, token }: Pick<ClaimRef, 'id' | 'token'>,
  keep: number,
  lines: readonly string[],
): boolean {
  const job = queue.job(id);
  if (job?.claim_token !== token) {
    return false;
  }
  const added = lines.map((line) => `{"at":${queue.now},"message":${line}}`);
  const all = [...(job.log ?? '').split('\n').filter(Boolean), ...added];
  job.log = all.slice(-keep).join('\n');
  return true;
}
