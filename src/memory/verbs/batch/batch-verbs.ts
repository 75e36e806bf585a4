// The verbs of batches with a follow-up; see lua/batch. All queues of a test share one memory, so the ends of members
// in other queues need no outbox. Follow-ups have one, so that tests meet their senders too.
import { parseJson } from '../../../queue/codec/parse-json.js';
import type { BatchMember, BatchPage, MemberEnd } from '../../../queue/model/batch.js';
import type { BatchAdder, BatchVerbs, Delivered, EncodedBatch } from '../../../queue/store/verbs/batch-verbs.js';
import { FollowUpBatch, type EndStatus } from '../../state/follow-up-batch.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { endCancelled } from '../attempt/ends.js';
import { configureGroup } from '../configure-group.js';
import { refTo, splitRef } from '../../../queue/store/job-ref.js';
import { depend, isRunning } from './follow.js';
import { endUnmet, findLostEnds } from './end-unmet.js';
import { fire, noteEnd } from './job-ended.js';
import { acknowledge, pendingFollowUps } from './follow-ups.js';
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
    join: (id, members, adder) => callOf('batchJoin', () => join(queue, find(id), members, adder)),
    known: (id, members) =>
      callOf('batchKnown', () => members.map((member) => (find(id)?.isMember(member) ? 'known' : 'new'))),
    seal: (id) => callOf('batchSeal', () => seal(queue, find(id))),
    stop: (id) => callOf('batchStop', () => stopAll(queue, find(id))),
    status: (id) => callOf('batchStatus', () => find(id)?.record(queue.name, queue.outbox) ?? null),
    list: (offset, limit, ended = false) =>
      callOf('batchList', () => {
        const known = [...queue.followUps.values()];
        const listed = ended ? endedOf(known.filter((batch) => !batch.isForgotten(queue.now))) : openOf(known);
        return listed.slice(offset, offset + limit).map((batch) => batch.record(queue.name, queue.outbox));
      }),
    openMembers: () => callOf('batchOpenMembers', () => []), // none is lost here
    results: (id, offset, limit) => callOf('batchResults', () => results(queue, find(id), offset, limit)),
    outbox: (limit, except = []) =>
      callOf('batchOutbox', () =>
        [...queue.outbox.entries.values()].filter(({ queue: name }) => !except.includes(name)).slice(0, limit),
      ),
    deliver: (from, ends) => callOf('batchDeliver', () => deliver(queue, from, ends)),
    acknowledge: (entries, fence) => callOf('batchAcknowledge', () => acknowledge(queue, entries, fence)),
    followUps: (entries, least = 0) => callOf('batchFollowUps', () => pendingFollowUps(queue, entries, least)),
    ends: (home, members) => callOf('batchEnds', () => endsOf(queue, home, members)),
    depend: (home, pairs) => callOf('batchDepend', () => depend(queue, home, pairs)),
    cancel: (ids) =>
      callOf('batchCancel', () => {
        ids.filter((id) => queue.job(id)?.batch !== undefined).forEach((id) => cancelMember(queue, id));
      }),
  };
}

/** Returns the batches that have not ended, the oldest first. */
function openOf(batches: readonly FollowUpBatch[]): FollowUpBatch[] {
  const open = batches.filter(({ endedAt }) => endedAt === undefined);
  return open.toSorted((a, b) => a.createdAt - b.createdAt || (a.definition.id < b.definition.id ? -1 : 1));
}

/** Returns the batches that have ended, the last first. */
function endedOf(batches: readonly FollowUpBatch[]): FollowUpBatch[] {
  const ended = batches.filter(({ endedAt }) => endedAt !== undefined);
  return ended.toSorted((a, b) => b.endedAt! - a.endedAt! || (a.definition.id < b.definition.id ? 1 : -1));
}

function create(queue: MemoryQueue, batch: EncodedBatch, known: FollowUpBatch | undefined): 'created' | 'exists' {
  if (known) {
    return 'exists';
  }
  queue.followUps.set(batch.id, new FollowUpBatch(batch, queue.now));
  batch.followUps.forEach(({ options }) => configureGroup(queue, options, true));
  return 'created';
}

function join(
  queue: MemoryQueue,
  batch: FollowUpBatch | undefined,
  members: readonly string[],
  adder?: BatchAdder,
) {
  if (adder?.token && !isRunning(queue, adder.member, adder.token)) {
    return 'lost';
  }
  if (!batch) {
    return 'no-batch';
  }
  if (!members.every((member) => batch.takes(member, adder?.member))) {
    return 'sealed';
  }
  members.forEach((member) => batch.join(member));
  if (batch.stoppedAt === undefined) {
    return 'joined';
  }
  stop(queue, batch);
  return 'stopped';
}

function seal(queue: MemoryQueue, batch: FollowUpBatch | undefined): 'sealed' | 'posted' | 'missing' {
  if (!batch) {
    return 'missing';
  }
  if (batch.sealedAt === undefined) {
    batch.sealedAt = queue.now;
    if (batch.open.size === 0) {
      fire(queue, batch);
    }
  }
  return batch.firedAt !== undefined && queue.outbox.entries.size > 0 ? 'posted' : 'sealed';
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
    if (place) {
      cancelMember(place, id);
    }
  }
}

function cancelMember(queue: MemoryQueue, id: string): void {
  const job = queue.job(id);
  if (job?.status === 'processing') {
    job.cancel_requested_at_ms ??= String(queue.now);
    queue.host.nudge(job.worker!, queue.name);
  } else if (job && queue.takeOut(id)) {
    endCancelled(queue, id, job);
  }
}

/** Ends jobs that must not run. Finds unreported ends: jobs without a hash, purged members, and discarded follow-ups. */
export function maintainBatches(queue: MemoryQueue) {
  findLostEnds(queue);
  const failed = endUnmet(queue);
  for (const [id, batch] of queue.followUps) {
    if (batch.isForgotten(queue.now)) {
      queue.followUps.delete(id);
      continue;
    }
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
    ? { more: false, hasEnds: queue.outbox.entries.size > 0, failed, elsewhere: [] }
    : undefined;
}

/** Returns the ends of members here of batches in another queue; see lua/batch/ends. */
function endsOf(queue: MemoryQueue, home: string, members: readonly { batch: string; id: string }[]): MemberEnd[] {
  return members.flatMap(({ batch, id }) => {
    const state = untoldEnd(queue, id, false);
    const { result, last_error: error } = queue.job(id) ?? {};
    const detail = (state === 'failed' ? error : result) ?? '';
    return state ? [{ queue: home, batch, id, number: '0', state, detail }] : [];
  });
}

/** Takes ends of open members that no report has; see lua/batch/deliver. */
function deliver(queue: MemoryQueue, from: string, ends: readonly MemberEnd[]): Delivered {
  const taken = ends.filter(({ batch: id, id: member, state, detail }) => {
    const batch = queue.followUps.get(id);
    const ref = refTo(from, member);
    if (batch?.firedAt !== undefined || !batch?.open.has(ref)) {
      return false;
    }
    noteEnd(queue, batch, ref, state as EndStatus, detail);
    return true;
  });
  const hasFired = ends.some(({ batch }) => queue.followUps.get(batch)?.firedAt !== undefined);
  return { changed: taken.length, hasEnds: hasFired && queue.outbox.entries.size > 0 };
}

/** Returns whether a member is a follow-up that waits for its queue. */
function isPending(queue: MemoryQueue, member: string): boolean {
  return [...queue.outbox.entries.values()].some((entry) => refTo(entry.queue, entry.id) === member);
}

function untoldEnd(queue: MemoryQueue, member: string, isFollowUp: boolean): EndStatus | undefined {
  const { queue: name, id } = splitRef(queue.name, member);
  const status = queue.host.find(queue, name)?.job(id)?.status;
  if (isPending(queue, member)) {
    return undefined;
  }
  if (status === undefined) {
    return 'removed';
  }
  return status === 'completed' || status === 'cancelled' || (status === 'failed' && !isFollowUp)
    ? status
    : undefined;
}
