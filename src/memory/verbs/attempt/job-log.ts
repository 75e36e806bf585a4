import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

/** Adds lines to the log of a job, of which the last `keep` stay; see lua/attempt/log.lua. */
export function addLines(queue: MemoryQueue, job: Hash, keep: number, lines: readonly string[]): void {
  const added = lines.map((line) => `{"at":${queue.now},"message":${line}}`);
  const all = [...(job.log ?? '').split('\n').filter(Boolean), ...added];
  job.log = all.slice(-keep).join('\n');
}
