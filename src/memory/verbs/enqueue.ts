// Enqueues jobs; see lua/job/enqueue.lua.
import { EnqueueRejected, type EncodedJob, type EnqueueReply } from '../../queue/store/enqueue-call.js';
import { follow, refuseFollow } from './batch/follow.js';
import { configureGroup } from './configure-group.js';
import { leavePlain, writeOptions } from './write-options.js';
import { groupFullness } from '../state/fullness.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';

/** @throws EnqueueRejected: nothing was written */
export function enqueue(queue: MemoryQueue, jobs: readonly EncodedJob[]): EnqueueReply[] {
  jobs.forEach((job) => refuseExpiryFirst(queue, job));
  jobs.forEach((job) => refuseFollow(queue, job));
  return jobs.map((job) => replyOf(queue, job, add(queue, job)));
}

function replyOf(queue: MemoryQueue, job: EncodedJob, added: Added): EnqueueReply {
  const standing = added.outcome === 'new' ? undefined : queue.job(added.id)?.name;
  const name = added.name ?? standing;
  return {
    id: added.id,
    outcome: added.outcome,
    ...(added.ended && { ended: added.ended }),
    ...(name !== undefined && name !== job.name && { name }),
    ...(added.full && { full: added.full }),
  };
}

function refuseExpiryFirst(queue: MemoryQueue, job: EncodedJob): void {
  const { runAt, expiresInMs } = job.options ?? {};
  if (runAt === undefined || expiresInMs === undefined) {
    return;
  }
  const startsInMs = runAt - queue.now;
  if (startsInMs >= expiresInMs && !queue.job(job.id)) {
    throw new EnqueueRejected(job, startsInMs);
  }
}

type Added = Pick<EnqueueReply, 'id' | 'outcome' | 'ended' | 'name' | 'full'>;

function add(queue: MemoryQueue, encoded: EncodedJob): Added {
  const { id, name, payload, options } = encoded;
  const known = queue.job(id);
  if (known) {
    const isOwnMember = options?.batch !== undefined && known.batch === options.batch;
    const repeated = options?.request === undefined || known.request === options.request || isOwnMember;
    const { status } = known;
    const ended = status === 'completed' || status === 'failed' || status === 'cancelled' ? status : undefined;
    return repeated ? { id, outcome: 'new', name } : { id, outcome: 'existing', ...(ended && { ended }) };
  }
  if (wasMember(queue, id, options)) {
    return { id, outcome: 'new', name };
  }
  const before = options?.unique?.onConflict === 'replace' ? replacedBefore(queue, id, options) : undefined;
  if (before !== undefined) {
    return { id: before, outcome: 'replaced' };
  }
  if (options?.request !== undefined) {
    queue.prioritized.delete(id);
    queue.scheduled.delete(id);
  }
  const owner = options?.unique === undefined ? undefined : holderOf(queue, options.unique.key);
  if (owner !== undefined) {
    return options!.unique!.onConflict === 'replace' && isWaiting(queue, owner, options!.unique!.key)
      ? replace(queue, owner, id, name, payload, options!)
      : { id: owner, outcome: 'kept' };
  }
  configureGroup(queue, options);
  const full = queue.flow.fullness(options?.group, payload);
  if (full) {
    return { id, outcome: 'new', name, full };
  }
  const job = write(queue, id, name, payload);
  if (options) {
    writeOptions(queue, job, options);
    own(queue, id, options);
    joinGroup(queue, options);
  }
  if (!options || follow(queue, id, job, options)) {
    place(queue, id, job, options);
  }
  noteLater(queue, id, options);
  queue.count('enqueued');
  queue.host.observer?.enqueued(queue, id, options ?? {}, encoded.durability);
  if (queue.options.eventExtras?.enqueued) {
    queue.emit(id, 'enqueued');
  }
  return { id, outcome: 'new' };
}

/** Returns whether a batch has had a member with this id of the caller's. Its hash may be gone. */
function wasMember(
  queue: MemoryQueue,
  id: string,
  { batch, request, wasMember: isKnown }: AskedOptions = {},
): boolean {
  if (isKnown) {
    return true;
  }
  return batch !== undefined && request !== undefined && queue.followUps.get(batch)?.isMember(id) === true;
}

export function write(queue: MemoryQueue, id: string, name: string, payload: string): Hash {
  const job: Hash = { name, payload, status: 'pending', enqueued_at_ms: String(queue.now) };
  queue.jobs.set(id, job);
  queue.forgottenAt.delete(id);
  return job;
}

/** Returns who holds a unique key: within its time, else while it waits (`pending`), or has not ended (`unfinished`). */
export function holderOf(queue: MemoryQueue, key: string): string | undefined {
  const owner = queue.unique.get(key);
  const until = queue.uniqueExpiries.get(key);
  if (owner === undefined) {
    return undefined;
  }
  const job = queue.job(owner);
  if (until !== undefined) {
    const longestMs = job?.window === key ? Number(job.window_ms) : (queue.longestWindowMs ?? Infinity);
    return until > queue.now && until <= queue.now + longestMs ? owner : undefined;
  }
  const runs = job?.status === 'processing' && job.unique_for !== 'pending';
  return job?.unique === key && (isWaiting(queue, owner, key) || runs) ? owner : undefined;
}

/** Gives a job that starts again its unique key, unless another job holds it. */
export function regainKey(queue: MemoryQueue, id: string, { unique }: Hash): void {
  if (unique !== undefined && holderOf(queue, unique) === undefined) {
    queue.unique.set(unique, id);
    queue.uniqueExpiries.delete(unique);
  }
}

function isWaiting(queue: MemoryQueue, id: string, key: string): boolean {
  const job = queue.job(id);
  return (job?.status === 'pending' || job?.status === 'scheduled') && (job.unique === key || job.window === key);
}

export function own(queue: MemoryQueue, id: string, { unique }: AskedOptions): void {
  if (unique === undefined) {
    return;
  }
  const { key, for: lasts } = unique;
  queue.unique.set(key, id);
  if (typeof lasts === 'object') {
    queue.uniqueExpiries.set(key, queue.now + lasts.ms);
    queue.longestWindowMs = Math.max(queue.longestWindowMs ?? 0, lasts.ms);
  } else {
    queue.uniqueExpiries.delete(key);
  }
}

/** The time a delayed job counts for the `maxPending` of its group at most, in ms. */
const LONGEST_COUNTED_MS = 604_800_000;

const OF_THE_REPLACED =
  'options priority rank cost group max_attempts max_crashes expires_at_ms due_at_ms crashes errors unhandled unhandled_at_ms ' +
  'cancel_requested_at_ms unique unique_for window window_ms progress log snoozes rate_limited interruptions next_crash_is_last last_error last_error_at_ms ' +
  'checkpoint steps lifo';

function replace(
  queue: MemoryQueue,
  owner: string,
  id: string,
  name: string,
  payload: string,
  options: AskedOptions,
): Added {
  const job = queue.job(owner)!;
  configureGroup(queue, options);
  if (options.group !== undefined && options.group !== job.group) {
    const full = groupFullness(queue, options.group, queue.flow.limitsOf(options.group), payload);
    if (full) {
      return { id, outcome: 'new', name, full };
    }
  }
  queue.takeOut(owner);
  OF_THE_REPLACED.split(' ').forEach((field) => delete job[field]);
  Object.assign(job, { name, payload, attempts: '0', claimed_at_ms: '0', ready_at_ms: String(queue.now) });
  queue.replaced.set(options.request ?? id, owner);
  writeOptions(queue, job, withoutRequest(options));
  leavePlain(job);
  own(queue, owner, options);
  joinGroup(queue, options);
  place(queue, owner, job, options);
  noteLater(queue, owner, options);
  queue.host.observer?.enqueued(queue, owner, options);
  return { id: owner, outcome: 'replaced', name };
}

function withoutRequest({ request: _request, ...options }: AskedOptions): AskedOptions {
  return options;
}

/** Counts a delayed job for its group with a bound until its start, at most a week. */
function noteLater(queue: MemoryQueue, id: string, options: AskedOptions | undefined): void {
  const dueAt = queue.scheduled.score(id);
  const isBounded = options?.group !== undefined && queue.flow.limitsOf(options.group).maxPending !== undefined;
  if (dueAt !== undefined && isBounded) {
    queue.enqueuedLater.set(id, Math.min(dueAt, queue.now + LONGEST_COUNTED_MS));
  }
}

function replacedBefore(queue: MemoryQueue, id: string, { request }: AskedOptions): string | undefined {
  return queue.replaced.get(id) ?? (request === undefined ? undefined : queue.replaced.get(request));
}

function joinGroup({ flow }: MemoryQueue, { group }: AskedOptions): void {
  if (group !== undefined) {
    flow.group(group);
    flow.hasGroups = true;
  }
}

function place(queue: MemoryQueue, id: string, job: Hash, options: AskedOptions | undefined): void {
  const dueAt = options?.runAt ?? queue.now + (options?.delayMs ?? 0);
  if (dueAt > queue.now) {
    if (options?.lifo) {
      job.lifo = '1';
    }
    queue.toLater(id, job, dueAt);
  } else {
    queue.toBack(id, job, undefined, options?.lifo);
  }
}
