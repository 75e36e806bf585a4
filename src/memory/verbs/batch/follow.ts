// A new job that joins a batch, or waits for others; see lua/lib/batch/join and follow.
import { leavePlain } from '../write-options.js';
import { EnqueueRejected, type EncodedJob, type FollowRefusal } from '../../../queue/store/enqueue-call.js';
import type { DependOutcome } from '../../../queue/store/verbs/batch-verbs.js';
import { idsOf, isRef, listOf, refTo } from '../../../queue/store/job-ref.js';
import type { AskedOptions } from '../../../queue/store/asked-options.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

const MOST_DEPENDENTS = 1_000;

/** @throws EnqueueRejected where it cannot join its batch, or wait for the jobs of its `after` */
export function refuseFollow(queue: MemoryQueue, job: EncodedJob): void {
  const { options } = job;
  const refusal = options && (batchRefusal(queue, job.id, options) ?? afterRefusal(queue, job.id, options));
  if (refusal) {
    throw new EnqueueRejected(job, 0, refusal);
  }
}

function batchRefusal(queue: MemoryQueue, id: string, { batch, addedBy }: AskedOptions): FollowRefusal | undefined {
  const [home = '', member, token] = addedBy ?? [];
  if (addedBy && home === '' && !queue.job(id) && !isRunning(queue, member!, token!)) {
    return { reason: 'lost', about: member! };
  }
  if (batch === undefined || isRef(batch)) {
    return undefined;
  }
  const found = queue.followUps.get(batch);
  if (!found) {
    return { reason: 'no-batch', about: batch };
  }
  const adder = addedBy && (home === '' ? member : refTo(home, member!));
  return found.takes(id, adder) ? undefined : { reason: 'sealed', about: batch };
}

/** Returns whether a claim of a job is current; see lua/lib/batch/adder. */
export function isRunning(queue: MemoryQueue, id: string, token: string): boolean {
  const job = queue.job(id);
  return token !== '' && job?.claim_token === token && job.status === 'processing';
}

function afterRefusal(queue: MemoryQueue, id: string, options: AskedOptions): FollowRefusal | undefined {
  const { after = [], afterRefusal: elsewhere } = options;
  if (queue.job(id)) {
    return undefined;
  }
  if (elsewhere) {
    return { reason: elsewhere[0], about: elsewhere[1] };
  }
  for (const about of after.filter((each) => !isRef(each))) {
    const reason = refusalAfter(queue.job(about), id);
    if (reason) {
      return { reason, about };
    }
  }
  return undefined;
}

/** Returns why a job cannot wait for this one. @param waiting its id, or how hashes name a job of another queue */
function refusalAfter(job: Hash | undefined, waiting: string) {
  if (!job) {
    return 'unknown';
  }
  if (job.status === 'failed' || job.status === 'cancelled') {
    return job.status;
  }
  const dependents = idsOf(job.dependents);
  return dependents.length >= MOST_DEPENDENTS && !dependents.includes(waiting) ? 'crowded' : undefined;
}

/** Notes that jobs of another queue will wait for jobs here; see lua/batch/depend. */
export function depend(
  queue: MemoryQueue,
  home: string,
  pairs: readonly { id: string; waiting: string }[],
): DependOutcome[] {
  return pairs.map(({ id, waiting }) => {
    const job = queue.job(id);
    const ref = refTo(home, waiting);
    const refusal = refusalAfter(job, ref);
    if (!refusal && job!.status !== 'completed') {
      addDependent(job!, ref);
    }
    return refusal ?? (job!.status === 'completed' ? 'completed' : 'open');
  });
}

function addDependent(job: Hash, waiting: string): void {
  job.dependents = listOf([...new Set([...idsOf(job.dependents), waiting])]);
  leavePlain(job);
}

/** Makes a new job a member of its batch, and lets it wait for others. Returns whether it may start by its own options. */
export function follow(queue: MemoryQueue, id: string, job: Hash, options: AskedOptions): boolean {
  if (options.batch !== undefined && !isRef(options.batch)) {
    const batch = queue.followUps.get(options.batch)!;
    batch.join(id);
    if (batch.stoppedAt !== undefined) {
      job.cancel_requested_at_ms = String(queue.now);
    }
  }
  const early = queue.earlyEnds.take(id); // of jobs of other queues, which were asked before this enqueue
  const open = (options.after ?? []).filter(
    (each) => (isRef(each) ? early.get(each) : queue.job(each)?.status) !== 'completed',
  );
  open.filter((each) => !isRef(each)).forEach((each) => addDependent(queue.job(each)!, id));
  if (open.length === 0) {
    return true;
  }
  const unmet = open.find((each) => early.has(each));
  if (unmet !== undefined) {
    job.unmet = `${unmet} ${early.get(unmet)}`;
  }
  Object.assign(job, { after: listOf(open), after_delay_ms: String(options.delayMs ?? 0), status: 'scheduled' });
  queue.scheduled.set(id, Infinity); // a start that never comes
  return false;
}
