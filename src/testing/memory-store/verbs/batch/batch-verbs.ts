// The verbs of batches with a follow-up; see lua/batch. All queues of a test share one memory, so the ends of members
// in other queues need no outbox.
import { parseJson } from '../../../../queue/codec/parse-json.js';
import type { BatchMember, BatchPage } from '../../../../queue/model/batch.js';
import type { BatchVerbs, EncodedBatch } from '../../../../queue/store/verbs/batch-verbs.js';
import { FollowUpBatch, type EndStatus } from '../../state/follow-up-batch.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { endCancelled } from '../attempt/ends.js';
import { configureGroup } from '../configure-group.js';
import { splitRef } from '../../../../queue/store/job-ref.js';
import { depend } from './follow.js';
import { endUnmet, findLostEnds } from './end-unmet.js';
import { fire, noteEnd } from './job-ended.js';
import { callOf } from '../memory-call.js';

export function batchVerbs(queue: MemoryQueue): BatchVerbs {
  const find = (id: string) => {
    const batch = queue.followUps.get(id);
    if (batch?.isForgotten(queue.now)) {
      queue.followUps.delete(id);
      return undefined;
    }
    return batch;
  };
  return {
    create: (batch) => callOf('batchCreate', () => create(queue, batch, find(batch.id))),
    join: (id, members) => callOf('batchJoin', () => join(queue, find(id), members)),
    seal: (id) => callOf('batchSeal', () => seal(queue, find(id))),
    stop: (id) => callOf('batchStop', () => stopAll(queue, find(id))),
    status: (id) => callOf('batchStatus', () => find(id)?.record(queue.name) ?? null),
    list: (limit) =>
      callOf('batchList', () => {
        const open = [...queue.followUps.values()].filter(({ endedAt }) => endedAt === undefined);
        return open.slice(0, limit).map((batch) => batch.record(queue.name));
      }),
    openMembers: () => callOf('batchOpenMembers', () => []), // none is lost here
    results: (id, offset, limit) => callOf('batchResults', () => results(queue, find(id), offset, limit)),
    outbox: () => callOf('batchOutbox', () => []),
    deliver: () => callOf('batchDeliver', () => 0),
    acknowledge: () => callOf('batchAcknowledge', () => 0),
    ends: () => callOf('batchEnds', () => []),
    depend: (home, pairs) => callOf('batchDepend', () => depend(queue, home, pairs)),
    cancel: () => callOf('batchCancel', () => undefined),
  };
}

function create(queue: MemoryQueue, batch: EncodedBatch, known: FollowUpBatch | undefined): 'created' | 'exists' {
  if (known) {
    return 'exists';
  }
  queue.followUps.set(batch.id, new FollowUpBatch(batch, queue.now));
  batch.followUps.forEach(({ options }) => configureGroup(queue, options, true));
  return 'created';
}

function join(queue: MemoryQueue, batch: FollowUpBatch | undefined, members: readonly string[]) {
  if (!batch) {
    return 'no-batch';
  }
  if (batch.sealedAt !== undefined && members.some((member) => !batch.isMember(member))) {
    return 'sealed';
  }
  members.forEach((member) => batch.join(member));
  if (batch.stoppedAt === undefined) {
    return 'joined';
  }
  stop(queue, batch);
  return 'stopped';
}

function seal(queue: MemoryQueue, batch: FollowUpBatch | undefined): 'sealed' | 'missing' {
  if (batch && batch.sealedAt === undefined) {
    batch.sealedAt = queue.now;
    if (batch.open.size === 0) {
      fire(queue, batch);
    }
  }
  return batch ? 'sealed' : 'missing';
}

function stopAll(queue: MemoryQueue, batch: FollowUpBatch | undefined): 'stopped' | 'fired' | 'missing' {
  if (!batch || batch.firedAt !== undefined) {
    return batch ? 'fired' : 'missing';
  }
  batch.isCancelled = true;
  stop(queue, batch);
  return 'stopped';
}

function results(
  queue: MemoryQueue,
  batch: FollowUpBatch | undefined,
  offset: number,
  limit: number,
): BatchPage | null {
  if (!batch) {
    return null;
  }
  const all = batch.isReadable(queue.now) ? batch.members : [];
  const members = all.slice(offset, offset + limit).map((member): BatchMember => {
    const outcome = batch.outcomes.get(member);
    const detail = outcome?.detail ?? '';
    return {
      ...splitRef(queue.name, member),
      status: outcome?.status ?? 'open',
      ...(outcome?.status === 'completed' && detail !== '' && { result: parseJson(detail).value }),
      ...(outcome?.status === 'failed' && { error: detail }),
    };
  });
  return offset + limit < all.length ? { members, next: offset + limit } : { members };
}

/** Cancels all unfinished members. Running ones get an aborted signal. */
function stop(queue: MemoryQueue, batch: FollowUpBatch): void {
  batch.stoppedAt ??= queue.now;
  const members = [...batch.open]; // the follow-ups come into it once the last has ended
  for (const member of members) {
    const { queue: name, id } = splitRef(queue.name, member);
    const place = queue.host.find(queue, name);
    const job = place?.job(id);
    if (place && job && job.status !== 'processing' && place.takeOut(id)) {
      endCancelled(place, id, job);
    } else if (place && job) {
      job.cancel_requested_at_ms ??= String(queue.now);
      if (job.worker !== undefined && job.claim_token) {
        place.host.nudge(job.worker, place.name);
      }
    }
  }
}

/** Ends jobs that must not run. Finds unreported ends: jobs without a hash, purged members, and discarded follow-ups. */
export function maintainBatches(queue: MemoryQueue) {
  findLostEnds(queue);
  const failed = endUnmet(queue);
  for (const batch of queue.followUps.values()) {
    if (batch.stoppedAt !== undefined && batch.firedAt === undefined) {
      stop(queue, batch);
    }
    for (const member of batch.open) {
      const status = untoldEnd(queue, member, batch.firedAt !== undefined);
      if (status) {
        noteEnd(queue, batch, member, status, '');
      }
    }
  }
  return queue.followUps.size + failed.length > 0
    ? { more: false, hasEnds: false, failed, elsewhere: [] }
    : undefined;
}

function untoldEnd(queue: MemoryQueue, member: string, isFollowUp: boolean): EndStatus | undefined {
  const { queue: name, id } = splitRef(queue.name, member);
  const status = queue.host.find(queue, name)?.job(id)?.status;
  if (status === undefined) {
    return 'removed';
  }
  return status === 'completed' || status === 'cancelled' || (status === 'failed' && !isFollowUp)
    ? status
    : undefined;
}
