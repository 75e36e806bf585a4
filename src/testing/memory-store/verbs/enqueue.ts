// Enqueues jobs; see lua/job/enqueue.lua.
import {
  EnqueueRejected,
  optionsOf,
  type EncodedJob,
  type EnqueueReply,
} from '../../../queue/store/enqueue-call.js';
import { follow, refuseFollow } from './batch/follow.js';
import { configureGroup } from './configure-group.js';
import { leavePlain, writeOptions } from './write-options.js';
import { groupFullness } from '../state/fullness.js';
import type { ScriptOptions } from '../../../queue/store/script-options.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';

/** @throws EnqueueRejected: nothing was written */
export function enqueue(queue: MemoryQueue, jobs: readonly EncodedJob[]): EnqueueReply[] {
  const asked = jobs.map(askedOf);
  jobs.forEach((job, i) => refuseExpiryFirst(queue, job, asked[i]));
  jobs.forEach((job, i) => refuseFollow(queue, job, asked[i]));
  return jobs.map((job, i) => replyOf(queue, job, add(queue, job, asked[i])));
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

function askedOf(job: EncodedJob): ScriptOptions | undefined {
  const text = optionsOf(job);
  return text === '' ? undefined : (JSON.parse(text) as ScriptOptions);
}

function refuseExpiryFirst(queue: MemoryQueue, job: EncodedJob, options: ScriptOptions | undefined): void {
  if (options?.run_at_ms === undefined || options.expires_in_ms === undefined) {
    return;
  }
  const startsInMs = options.run_at_ms - queue.now;
  if (startsInMs >= options.expires_in_ms && !queue.job(job.id)) {
    throw new EnqueueRejected(job, startsInMs);
  }
}

type Added = Pick<EnqueueReply, 'id' | 'outcome' | 'ended' | 'name' | 'full'>;

function add(queue: MemoryQueue, encoded: EncodedJob, options: ScriptOptions | undefined): Added {
  const { id, name, payload } = encoded;
  const known = queue.job(id);
  if (known) {
    const isOwnMember = options?.batch !== undefined && known.batch === options.batch;
    const repeated = options?.request === undefined || known.request === options.request || isOwnMember;
    const { status } = known;
    const ended = status === 'completed' || status === 'failed' || status === 'cancelled' ? status : undefined;
    return repeated ? { id, outcome: 'new', name } : { id, outcome: 'existing', ...(ended && { ended }) };
  }
  const before = options?.unique_replace ? replacedBefore(queue, id, options) : undefined;
  if (before !== undefined) {
    return { id: before, outcome: 'replaced' };
  }
  if (options?.request !== undefined) {
    queue.prioritized.delete(id);
    queue.scheduled.delete(id);
  }
  const owner = options?.unique === undefined ? undefined : holderOf(queue, options.unique);
  if (owner !== undefined) {
    return options!.unique_replace && isWaiting(queue, owner, options!.unique!)
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

function isWaiting(queue: MemoryQueue, id: string, key: string): boolean {
  const job = queue.job(id);
  return (job?.status === 'pending' || job?.status === 'scheduled') && (job.unique === key || job.window === key);
}

export function own(queue: MemoryQueue, id: string, { unique, unique_for: kind }: ScriptOptions): void {
  if (unique === undefined) {
    return;
  }
  queue.unique.set(unique, id);
  if (typeof kind === 'number') {
    queue.uniqueExpiries.set(unique, queue.now + kind);
    queue.longestWindowMs = Math.max(queue.longestWindowMs ?? 0, kind);
  } else {
    queue.uniqueExpiries.delete(unique);
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
  options: ScriptOptions,
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
  writeOptions(queue, job, { ...options, request: undefined });
  leavePlain(job);
  own(queue, owner, options);
  place(queue, owner, job, options);
  noteLater(queue, owner, options);
  queue.host.observer?.enqueued(queue, owner, options);
  return { id: owner, outcome: 'replaced', name };
}

/** Counts a delayed job for its group with a bound until its start, at most a week. */
function noteLater(queue: MemoryQueue, id: string, options: ScriptOptions | undefined): void {
  const dueAt = queue.scheduled.score(id);
  const isBounded = options?.group !== undefined && queue.flow.limitsOf(options.group).maxPending !== undefined;
  if (dueAt !== undefined && isBounded) {
    queue.enqueuedLater.set(id, Math.min(dueAt, queue.now + LONGEST_COUNTED_MS));
  }
}

function replacedBefore(queue: MemoryQueue, id: string, { request }: ScriptOptions): string | undefined {
  return queue.replaced.get(id) ?? (request === undefined ? undefined : queue.replaced.get(request));
}

function place(queue: MemoryQueue, id: string, job: Hash, options: ScriptOptions | undefined): void {
  if (options?.group !== undefined) {
    queue.flow.group(options.group);
    queue.flow.hasGroups = true;
  }
  const dueAt = options?.run_at_ms ?? queue.now + (options?.delay_ms ?? 0);
  if (dueAt > queue.now) {
    if (options?.lifo) {
      job.lifo = '1';
    }
    queue.toLater(id, job, dueAt);
  } else {
    queue.toBack(id, job, undefined, options?.lifo);
  }
}
