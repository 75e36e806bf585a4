// The verbs that run by the clock; see lua/sweep.
import type { ReclaimedJob } from '../../queue/store/call-outcomes.js';
import { NAME_FORGOTTEN_MS, WORKER_FORGOTTEN_MS } from '../../queue/runtime/lifetimes.js';
import type { AskingTurns, HoldReply, TidyReply, Watched } from '../../queue/store/verbs/sweep-verbs.js';
import { retentionOf } from '../state/announcements.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { remember, trimDeadLetters } from './attempt/ends.js';
import { dropDeadLetter } from './attempt/has-left.js';
import { crash } from './attempt/crash.js';

/** The least bound of a claim's expiry, in ms; see lua/sweep/reclaim.lua. */
const SHORTEST_BOUND_MS = 60_000;

/** The most waits after gaps that no sweep outlives; see lua/sweep/reclaim.lua. */
const MOST_HOLDS = 3;

/** Reclaims expired claims, the latest first, so that the first claimed job ends up in front. */
export function reclaim(
  queue: MemoryQueue,
  limit: number,
  gapMs: number,
  ownWaitMs: number,
  watched?: Watched,
): { reclaimed: ReclaimedJob[]; more: boolean } {
  const { now, announced } = queue;
  const waitMs = announced.retention ? announced.retention.visibilityMs / 3 : ownWaitMs; // a heartbeat
  const latest = now + Math.max(queue.longestVisibilityMs, SHORTEST_BOUND_MS) + waitMs;
  const isWatched =
    watched !== undefined && watched.fromMs <= now - waitMs && watched.toMs <= now && now - watched.toMs <= gapMs;
  const isAfterGap = queue.lastSweepAt !== undefined && now - queue.lastSweepAt > gapMs && !isWatched;
  if ((isAfterGap && queue.sweepHold.count < MOST_HOLDS) || queue.sweepHold.until > latest) {
    queue.sweepHold.until = now + waitMs;
    queue.sweepHold.count++;
  }
  queue.claims.bringBack(latest, now + waitMs);
  queue.lastSweepAt = now;
  if (now < queue.sweepHold.until) {
    return { reclaimed: [], more: false };
  }
  queue.sweepHold.count = 0;
  const expired = queue.claims.upTo(now).toReversed().slice(0, limit);
  const taken = expired.filter((id) => {
    queue.claims.delete(id);
    const status = queue.job(id)?.status;
    return status === 'processing' || status === undefined;
  });
  return { reclaimed: crashAll(queue, taken, 'claim expired'), more: expired.length === limit };
}

/** Takes, keeps or gives back the right to maintain a set of queues; see lua/sweep/hold.lua. */
export function hold(
  queue: MemoryQueue,
  set: string,
  process: string,
  lengthMs: number,
  turns: AskingTurns,
): HoldReply {
  const { now, maintainers } = queue;
  const right = maintainers.get(set);
  const leftMs = (right?.until ?? 0) - now;
  if (right && right.process !== process && leftMs > 0 && leftMs <= right.lengthMs) {
    return { hasRight: false, turnInMs: lengthMs > 0 ? takeTurn(right, now, turns) : 0 };
  }
  if (lengthMs > 0) {
    maintainers.set(set, { until: now + lengthMs, lengthMs, process, turns: right?.turns ?? [] });
  } else if (right?.process === process) {
    maintainers.delete(set);
  }
  return { hasRight: lengthMs > 0, turnInMs: 0 };
}

/** Gives a process the first interval that no other has, else a part of the one before the last. Returns the ms until then. */
function takeTurn(right: { turns: number[] }, now: number, { intervalMs, most }: AskingTurns): number {
  const first = Math.floor(now / intervalMs + 0.1) + 1;
  const last = first + most - 1;
  right.turns = right.turns.filter((each) => each >= first && each <= last);
  let turn = first;
  while (right.turns.includes(turn) && turn < last) {
    turn++;
  }
  const rank = right.turns.filter((each) => each === turn).length;
  right.turns.push(turn);
  const before = rank > 0 && turn > first ? 1 - partOf(rank) : 0;
  return (turn - before) * intervalMs - now;
}

/** Returns the part of an interval at which the process of a rank asks, so 1/2, 1/4, 3/4, 1/8. */
function partOf(rank: number): number {
  return rank > 0 ? ((rank % 2) + partOf(Math.floor(rank / 2))) / 2 : 0;
}

/** Reclaims all claims of a worker whose process has ended; see lua/sweep/reclaim-worker.lua. */
export function reclaimWorker(queue: MemoryQueue, worker: string): { cursor: string; reclaimed: ReclaimedJob[] } {
  const taken = queue.claims.members().filter((id) => {
    const job = queue.job(id);
    return job?.status === 'processing' && job.worker === worker;
  });
  taken.forEach((id) => queue.claims.delete(id));
  queue.workers.delete(worker);
  return { cursor: '0', reclaimed: crashAll(queue, taken, 'worker process ended') };
}

/** Ends claims whose worker is gone. The job claimed first goes to the front last. */
function crashAll(queue: MemoryQueue, taken: readonly string[], what: string): ReclaimedJob[] {
  const fenceOf = (id: string) => Number(queue.job(id)?.fence ?? 0);
  return taken
    .toSorted((a, b) => fenceOf(b) - fenceOf(a))
    .map((id) => {
      const worker = queue.job(id)?.worker;
      return { id, status: crash(queue, id, what), ...(worker !== undefined && { worker }) };
    });
}

/** Deletes unused data: ids of expired jobs, expired unique keys, silent workers. */
export function tidy(queue: MemoryQueue): TidyReply {
  const { now } = queue;
  const { completedHistory, failedHistory, cancelledHistory, deadLetterAgeMs } = retentionOf(queue);
  remember(queue, queue.completed, [], completedHistory);
  remember(queue, queue.failed, [], failedHistory);
  remember(queue, queue.cancelled, [], cancelledHistory);
  for (const [key, until] of queue.uniqueExpiries) {
    const owner = queue.unique.get(key);
    if (until <= now) {
      queue.uniqueExpiries.delete(key);
      if (owner !== undefined && queue.job(owner)?.unique !== key) {
        queue.unique.delete(key);
      }
    }
  }
  trimHistory(queue, queue.completed, 'completed');
  trimHistory(queue, queue.cancelled, 'cancelled');
  trimHistory(queue, queue.failed, undefined);
  for (const id of deadLetterAgeMs > 0 ? queue.dead.upTo(now - deadLetterAgeMs) : []) {
    queue.dead.delete(id);
    dropDeadLetter(queue, id);
  }
  trimDeadLetters(queue);
  for (const announced of [queue.workers, queue.names, queue.scheduleOwners]) {
    announced.forEach((at, each) => announced.set(each, Math.min(at, now)));
  }
  for (const [worker, seenAt] of queue.workers) {
    if (seenAt <= now - WORKER_FORGOTTEN_MS) {
      queue.workers.delete(worker);
    }
  }
  for (const [name, announcedAt] of queue.names) {
    if (announcedAt <= now - NAME_FORGOTTEN_MS) {
      queue.names.delete(name);
    }
  }
  const dropped = queue.dropped.report(now);
  queue.forgetIfUnused();
  return { more: false, dropped };
}

function trimHistory(queue: MemoryQueue, history: string[], status: string | undefined): void {
  const isLeftOver = (id: string) => {
    const job = queue.job(id);
    return !job || (status !== undefined && (job.status !== status || history.indexOf(id) < history.length - 1));
  };
  while (history.length > 0 && isLeftOver(history.at(-1)!)) {
    history.pop();
  }
}
