// Dead letters: which a filter means, and their end; see lua/dead-letter.
import type { DeadLetterQuery, DeadLetterSlice } from '../../../queue/store/store-calls.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { removeFirst } from '../../state/scored-set.js';
import type { RedriveAsNewReply } from '../../../queue/store/verbs/dead-letter-verbs.js';
import { withoutPlainMark } from '../../../queue/model/metadata.js';
import { holderOf } from '../enqueue.js';
import { record } from './list.js';
import { freeUnique } from '../attempt/ends.js';
import { isReused } from '../attempt/has-left.js';
import { withoutUndefined } from '../../../queue/runtime/fields.js';

export function list(queue: MemoryQueue, query: DeadLetterQuery, most: number, withJobs: boolean): DeadLetterSlice {
  const { order, place } = query;
  const all = queue.dead.members();
  const ordered = order === 'newest' ? all.toReversed() : all;
  const rest = place === undefined ? ordered : ordered.filter((id) => isBehind(queue, id, place, order));
  const matching = rest.filter((id) => matches(queue, id, query));
  const page = matching.slice(0, most);
  const found = page.map((id) => ({
    id,
    at: String(queue.dead.score(id)),
    job: withJobs ? (record(queue, id) ?? undefined) : undefined,
  }));
  const last = found.at(-1);
  return {
    nowMs: queue.now,
    next: last && matching.length > page.length ? { at: last.at, id: last.id } : undefined,
    found,
  };
}

function isBehind(
  queue: MemoryQueue,
  id: string,
  place: { at: string; id: string },
  order: DeadLetterQuery['order'],
): boolean {
  const difference = queue.dead.score(id)! - Number(place.at) || (id < place.id ? -1 : id > place.id ? 1 : 0);
  return order === 'oldest' ? difference > 0 : difference < 0;
}

function matches(queue: MemoryQueue, id: string, query: DeadLetterQuery): boolean {
  const { name, error, kind, olderThanMs = 0, newerThanMs = Infinity, untilMs = Infinity } = query;
  const at = queue.dead.score(id)!;
  const job = queue.job(id);
  const age = queue.now - at;
  const fits = age >= olderThanMs && age <= newerThanMs && at <= untilMs;
  const named = (name === undefined || job?.name === name) && (kind === undefined || job?.error_kind === kind);
  return (
    fits && named && (error === undefined || (job?.last_error ?? '').toLowerCase().includes(error.toLowerCase()))
  );
}

export function discard(queue: MemoryQueue, letters: readonly { id: string; at?: string }[]): number {
  const meant = letters.filter(
    ({ id, at }) => queue.dead.has(id) && (at === undefined || at === '' || Number(at) === queue.dead.score(id)),
  );
  let discarded = 0;
  for (const { id } of meant) {
    const job = queue.job(id) ?? {};
    queue.dead.delete(id);
    removeFirst(queue.failed, id);
    if (!isReused(queue, id)) {
      freeUnique(queue, id, job);
      queue.outcomes.delete(id);
      queue.drop(id);
      discarded++;
    }
  }
  queue.count('discarded', discarded);
  return discarded;
}

/** The begin of a payload that a codec has encoded for its own job. */
const ENCODED = /^\{"\$codec":("[a-z0-9-]+"),"value":/;
/** The begin of one that it has encoded for another job, or for those of a schedule or batch. */
const ENCODED_OF = /^\{"\$codec":"[a-z0-9-]+","of":("(?:[^"\\]|\\.)*"),"value":/;

/** The options of a worker that a new job does not take over. */
const OF_THE_OLD = ['batch', 'member', 'stopsBatch', 'delayMs', 'runAtMs', 'payloadId'];

/** Redrives a dead letter as a new job, and keeps it; see lua/dead-letter/redrive-as-new.lua. */
export function redriveAsNew(queue: MemoryQueue, id: string, newId: string, payload: string): RedriveAsNewReply {
  const letter = queue.job(id);
  const known = newJobOf(queue, id);
  if (known !== undefined) {
    return { outcome: known === newId ? 'redriven' : 'known', id: known };
  }
  if (letter?.payload === undefined || letter.status !== 'failed' || !queue.dead.has(id)) {
    return { outcome: 'missing', id: '' };
  }
  const { name, priority, cost, group, max_attempts, max_crashes, unique, unique_for } = letter;
  const isUnique = unique !== undefined && holderOf(queue, unique) === undefined;
  const copied = {
    name,
    priority,
    cost,
    group,
    max_attempts,
    max_crashes,
    ...(isUnique && { unique, unique_for }),
  };
  const job: Hash = {
    ...withoutUndefined(copied),
    payload:
      payload ||
      letter.payload.replace(ENCODED, (_, codec) => `{"$codec":${codec},"of":${JSON.stringify(id)},"value":`),
    enqueued_at_ms: String(queue.now),
    options: JSON.stringify(optionsOfNew(id, letter, payload)),
    redriven_from: id,
  };
  if (isUnique) {
    queue.unique.set(unique, newId);
    queue.uniqueExpiries.delete(unique);
  }
  letter.redriven_as = newId;
  queue.flow.holds.endHold(id, group);
  queue.jobs.set(newId, job);
  queue.count('enqueued');
  queue.toBack(newId, job);
  return { outcome: 'redriven', id: newId };
}

/** Returns the options of the worker for the new job. An encoded payload says for which job it was encoded. */
function optionsOfNew(id: string, letter: Hash, payload: string): object {
  const options = JSON.parse(withoutPlainMark(letter.options)) as Record<string, unknown>;
  const kept = Object.entries(options).filter(([name]) => !OF_THE_OLD.includes(name));
  const payloadId = payload !== '' ? undefined : (encodedFor(id, letter.payload!) ?? options.payloadId);
  return { ...Object.fromEntries(kept), ...(payloadId !== undefined && { payloadId }) };
}

/** Returns the job, or the schedule or batch of it, for which its payload was encoded. */
function encodedFor(id: string, payload: string): string | undefined {
  const of = ENCODED_OF.exec(payload)?.[1];
  const maker = /^(@.+):/s.exec(id)?.[1];
  return ENCODED.test(payload) ? id : of !== undefined && JSON.parse(of) === maker ? maker : undefined;
}

/** Returns the id of the job as which a dead letter was redriven, while that job is known. */
export function newJobOf(queue: MemoryQueue, id: string): string | undefined {
  const newId = queue.job(id)?.redriven_as;
  return newId !== undefined && queue.job(newId) ? newId : undefined;
}
