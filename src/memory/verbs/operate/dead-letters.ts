// Dead letters: which a filter means, and their end; see lua/dead-letter.
import type { DeadLetterQuery, DeadLetterSlice } from '../../../queue/store/store-calls.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { removeFirst } from '../../state/scored-set.js';
import { record } from './list.js';
import { freeUnique } from '../attempt/ends.js';
import { isReused } from '../attempt/has-left.js';

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
