// Invariants of a queue's state in memory, whatever was done to it; see invariants.ts for Redis.
import type { MemoryQueue } from '#memory/state/memory-queue.js';

/** Returns descriptions of the faults in a queue. */
export function memoryViolations(queue: MemoryQueue): string[] {
  const faults: string[] = [];
  const seen = new Map<string, string>();
  for (const [name, { status, ids, mayExpire }] of Object.entries(placesOf(queue))) {
    for (const id of ids) {
      if (seen.has(id)) {
        faults.push(`I1: ${id} is in ${seen.get(id)} and in ${name}`);
      }
      seen.set(id, name);
      faults.push(...faultsOf(queue, id, name, status, mayExpire));
    }
  }
  for (const id of [...queue.jobs.keys()].filter((each) => queue.job(each) && !seen.has(each))) {
    if ((queue.forgottenAt.get(id) ?? Infinity) > queue.now + 10_000) {
      faults.push(`I1: ${id} is nowhere, and lives on`);
    }
  }
  for (const { kind, count } of queue.kinds.list(queue.now, (id) => queue.job(id))) {
    const size = queue.dead.members().filter((id) => queue.job(id)?.error_kind === kind).length;
    if (count !== size) {
      faults.push(`I1: ${count} dead letters are counted as ${kind}, of ${size}`);
    }
  }
  return faults;
}

function place(status: string, ids: readonly string[], mayExpire = false) {
  return { status, ids, mayExpire };
}

function placesOf(queue: MemoryQueue) {
  return {
    pending: place('pending', queue.pending),
    prioritized: place('pending', queue.prioritized.members()),
    scheduled: place('scheduled', queue.scheduled.members()),
    claims: place('processing', queue.claims.members()),
    completed: place('completed', queue.completed, true),
    cancelled: place('cancelled', queue.cancelled, true),
    dead: place('failed', queue.dead.members()),
  };
}

function faultsOf(queue: MemoryQueue, id: string, name: string, status: string, mayExpire: boolean): string[] {
  const job = queue.job(id);
  if (job?.status === undefined) {
    return mayExpire ? [] : [`I1: ${id} is in ${name} and has no hash`];
  }
  const isClaimed = name === 'claims';
  const faults = [
    job.status !== status && `I1: ${id} is in ${name} and its status is ${job.status}`,
    isClaimed && !job.claim_token && `I2: ${id} is claimed without a token`,
    !isClaimed && job.claim_token && `I2: ${id} is in ${name} and has the token ${job.claim_token}`,
    job.max_attempts &&
      Number(job.attempts) > Number(job.max_attempts) &&
      `I6: ${id} has ${job.attempts} of ${job.max_attempts} attempts`,
    Number(job.attempts ?? 0) < 0 && `I6: ${id} has ${job.attempts} attempts`,
  ];
  return faults.filter((fault): fault is string => typeof fault === 'string' && fault !== '');
}
