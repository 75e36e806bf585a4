// The death of a worker with its claims; see lua/lib/settle/crash.lua and lua/attempt/note-death.lua.
import type { ClaimRef } from '../../../queue/model/job.js';
import { attemptsByHand } from '../../../queue/model/queue-options.js';
import { handledAs } from '../../../queue/validation/names.js';
import { logAttempt } from './attempt-log.js';
import { bury, endCancelled } from './ends.js';
import { increment } from './increment.js';
import { type Hash, type MemoryQueue } from '../../state/memory-queue.js';
import { removeMark } from './unstarted.js';

/** Ends a claim whose worker is gone. An unstarted job gets no crash. */
export function crash(queue: MemoryQueue, id: string, what: string): 'pending' | 'failed' | 'cancelled' {
  queue.count('reclaimed');
  const job = queue.job(id);
  if (!job?.status) {
    const gone: Hash = {};
    queue.jobs.set(id, gone);
    bury(queue, id, gone, 'The job hash is missing: it was deleted or has expired.', '@gone');
    return 'failed';
  }
  const attempts = Number(job.attempts ?? 0);
  const had = removeMark(job);
  const charged = had === undefined;
  const reason = what + (job.worker === undefined ? '' : ` (worker ${job.worker}${reportOf(job)})`);
  delete job.death;
  logAttempt(queue, job, charged ? 'crash' : 'interruption', { name: 'WorkerCrash', message: reason });
  Object.assign(job, { claim_token: '', claimed_at_ms: '0', fence: String(++queue.sequence) });
  if (charged) {
    queue.count('crashed');
    increment(job, 'crashes');
  } else {
    queue.flow.refund(job);
    job.attempts = String(had === 'refused' ? attempts : Math.max(0, attempts - 1));
    increment(job, 'interruptions');
  }
  if (job.cancel_requested_at_ms !== undefined) {
    endCancelled(queue, id, job);
    return 'cancelled';
  }
  if (charged && isBuriedByCrash(queue, id, job, attempts, reason)) {
    return 'failed';
  }
  queue.toFront(id, job);
  queue.emit(id, 'reclaimed');
  return 'pending';
}

/** Notes an uncaught error of the process in its running jobs. */
export function noteDeath(queue: MemoryQueue, claims: readonly Pick<ClaimRef, 'id' | 'token'>[], error: string) {
  const jobs = claims.flatMap(({ id, token }) => {
    const job = queue.job(id);
    return job?.claim_token === token ? [job] : [];
  });
  jobs.forEach((job) => (job.death = `${job.fence} ${error}`));
  return jobs.length;
}

/** Returns what the claim's worker last reported of its process, as a part of a sentence. */
function reportOf({ death = '', fence }: Hash): string {
  return death.startsWith(`${fence} `)
    ? `; uncaught error in its process: ${death.slice(death.indexOf(' ') + 1)}`
    : '';
}

function isBuriedByCrash(queue: MemoryQueue, id: string, job: Hash, attempts: number, reason: string): boolean {
  const { maxAttempts, maxCrashes } = limitsOf(queue, job);
  const crashes = Number(job.crashes);
  if (crashes >= maxCrashes) {
    bury(
      queue,
      id,
      job,
      `${reason}: its worker died ${crashes} times while it ran (maxCrashes ${maxCrashes})${named(job)}`,
      '@crash',
    );
    return true;
  }
  if (attempts >= maxAttempts) {
    bury(queue, id, job, `${reason} on attempt ${attempts} (maxAttempts ${maxAttempts})${named(job)}`, '@crash');
    return true;
  }
  if (crashes + 1 >= maxCrashes) {
    job.next_crash_is_last = '1';
  }
  return false;
}

/** Returns the name in the spelling of cjson. */
function named({ name }: Hash): string {
  return name === undefined ? '' : `; its name is ${JSON.stringify(name).replaceAll('/', '\\/')}`;
}

/** Returns the job's own limits, else those of its handler as the workers announced them, else the queue's. */
export function limitsOf(queue: MemoryQueue, job: Hash): { maxAttempts: number; maxCrashes: number } {
  const handler = queue.announced.handlerLimits.get(handledAs(queue.announced.handlerLimits, job.name ?? '') ?? '');
  return {
    maxAttempts: Number(job.max_attempts ?? handler?.maxAttempts ?? attemptsByHand(queue.options)),
    maxCrashes: Number(job.max_crashes ?? handler?.maxCrashes ?? queue.options.maxCrashes),
  };
}
