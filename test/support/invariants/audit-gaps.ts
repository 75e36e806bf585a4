// Compares the audit trail of a queue with its jobs. Each entry must begin in the status where the previous one ended.
import type { JobQueue } from '#queue/job-queue.js';
import type { AuditEntry } from '#queue/model/job-event.js';

/** A job in one of these may be forgotten without an entry, when its time to live is over. */
const FORGOTTEN = ['completed', 'cancelled', undefined];

/** Returns all entries of the trail, oldest first. */
export async function trailOf(queue: JobQueue): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for (;;) {
    const after = all.at(-1)?.entryId;
    const slice = await queue.auditTrail.read({ limit: 1_000, ...(after && { after }) });
    if (slice.length === 0) return all;
    all.push(...slice);
  }
}

/** Returns descriptions of gaps in the trail. */
export async function gapsIn(queue: JobQueue): Promise<string[]> {
  const gaps: string[] = [];
  const last = new Map<string, AuditEntry>();
  for (const entry of await trailOf(queue)) {
    const { jobId, transition, from, to } = entry;
    const stood = last.get(jobId)?.to;
    if (from !== stood && !(from === undefined && FORGOTTEN.includes(stood))) {
      gaps.push(`${transition} of ${jobId} from ${from} to ${to}, but it was ${stood}`);
    }
    last.set(jobId, entry);
  }
  for (const [id, { to }] of last) {
    const status = (await queue.get(id))?.status;
    if (status !== to && !(status === undefined && FORGOTTEN.includes(to))) {
      gaps.push(`${id} is ${status}, but the trail says ${to}`);
    }
  }
  return gaps;
}
