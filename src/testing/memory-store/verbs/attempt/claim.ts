// Claims jobs; see lua/attempt/claim.lua. The reply is decoded like that of the script.
import { attemptsByHand } from '../../../../queue/model/queue-options.js';
import { giantBytes, refusalOf } from '../../../../queue/store/claim-refusal.js';
import type { StartOutcome } from '../../../../queue/store/call-outcomes.js';
import type { ClaimReply, ClaimRequest, StartedClaim } from '../../../../queue/store/store-calls.js';
import { headByTurn } from '../../state/head-by-turn.js';
import { decodeClaim, decodeNamedClaim } from '../../../../queue/replies/decode-claim.js';
import type { ClaimBatch, Hash, MemoryQueue } from '../../state/memory-queue.js';
import { boundLimits } from '../limits.js';
import { promote } from '../promote.js';
import { ClaimBytes, isGiant } from './claim-bytes.js';
import { hasLeft } from './has-left.js';
import { NamedJobs, takeNamed, type Taken } from './take-named.js';
import { isMarked, mark, removeMark } from './unstarted.js';

/** The entry of one job in the reply of lua/attempt/claim.lua. */
type ReplyEntry = [string, string, string | null, number, unknown[]];

export function claim(queue: MemoryQueue, request: ClaimRequest): ClaimReply {
  const { worker, stream, token, only } = request;
  const claimer = `${worker}:${stream}`;
  boundLimits(queue);
  queue.longestVisibilityMs = Math.max(queue.longestVisibilityMs, queue.options.visibilityMs);
  const last = queue.batches.get(claimer);
  const bytes = new ClaimBytes(request.mostBytes, giantBytes(queue.options.maxPayloadBytes));
  const named = only && new NamedJobs(queue, only.limits);
  const isRepeated = last?.token === token && last.keptUntil > queue.now;
  const { entries, dueInMs } = isRepeated
    ? { entries: repeated(queue, last, bytes), dueInMs: null }
    : claimNew(queue, request, bytes, named);
  const looks = !isRepeated && queue.pausedAt === undefined;
  const [elsewhere, ...unserved] = looks && named ? named.left : [0];
  if (elsewhere === 1) {
    queue.host.wake(queue.name); // for the worker that handles it
  }
  const isLimited = queue.flow.isActive || queue.restsUntil > queue.now;
  const end = isLimited ? [awaitsSlots(queue, isRepeated) ? 'awaits-slots' : 'limited'] : [];
  const reply = [queue.now, bytes.isFull ? 'full' : dueInMs, 0, ...entries.flat(1), ...end];
  const maxAttemptsOf = (name: string) => maxAttemptsIn(queue, request, name);
  return only
    ? decodeNamedClaim([reply, -1, elsewhere, ...unserved], queue.name, token, maxAttemptsOf)
    : decodeClaim(reply, queue.name, token, maxAttemptsOf);
}

function claimNew(queue: MemoryQueue, request: ClaimRequest, bytes: ClaimBytes, named: NamedJobs | undefined) {
  promote(queue, Math.max(request.count, 100));
  const isPaused = queue.pausedAt !== undefined;
  const taken: Taken = isPaused ? { ids: [], waiting: [] } : take(queue, request, bytes, named);
  const soonest = queue.scheduled.members()[0];
  const opensAt = queue.flow.opensAt(taken.waiting, taken);
  const dueAt = Math.min(opensAt, soonest === undefined ? Infinity : queue.scheduled.score(soonest)!);
  const dueInMs = isPaused || dueAt === Infinity ? null : Math.max(0, dueAt - queue.now);
  countWait(queue, opensAt, request, taken.ids.length);
  const entries = claimAll(queue, request, taken.ids, named?.overdue);
  if (taken.ids.length > 0 && (queue.hasClaimable || dueInMs === 0)) {
    queue.host.wake(queue.name);
  }
  return { entries, dueInMs };
}

function take(queue: MemoryQueue, request: ClaimRequest, bytes: ClaimBytes, named: NamedJobs | undefined): Taken {
  const { flow } = queue;
  const { count, slots = count } = request;
  const isLimited = flow.isActive || queue.restsUntil > queue.now;
  const most = isLimited ? Math.min(count, slots) : count;
  const fits = (id: string) => bytes.takes(queue.job(id));
  if (named && !flow.hasGroups) {
    return takeNamed(queue, named, most, fits);
  }
  if (queue.restsUntil > queue.now) {
    return { ids: [], waiting: queue.line };
  }
  if (!flow.isActive) {
    return { ids: takeNext(queue, most, fits), waiting: queue.line };
  }
  const taken = flow.take(queue.line, most, fits, named && ((id) => named.mayTake(id)));
  taken.ids.forEach((id) => queue.takeFromLine(id));
  return { ...taken, waiting: queue.line };
}

/** Takes jobs of a queue without limits and groups. */
function takeNext(queue: MemoryQueue, count: number, fits: (id: string) => boolean): string[] {
  const ids: string[] = [];
  const rank = (id: string) => queue.prioritized.score(id)!;
  for (let turn = queue.sequence + 1; ids.length < count && queue.hasClaimable; turn++) {
    const id = headByTurn({ urgent: queue.prioritized.members(), others: queue.pending, rank }, turn)!;
    if (!fits(id)) {
      break;
    }
    queue.takeFromLine(id);
    ids.push(id);
  }
  return ids;
}

function claimAll(
  queue: MemoryQueue,
  request: ClaimRequest,
  ids: readonly string[],
  overdue?: ReadonlyMap<string, string>,
): ReplyEntry[] {
  const { token, worker, stream, slots } = request;
  const entries: ReplyEntry[] = [];
  const batch: ClaimBatch = { token, claims: [], keptUntil: queue.now + queue.options.visibilityMs };
  for (const id of ids) {
    if (isElsewhere(queue, id)) {
      continue;
    }
    const job = queue.job(id) ?? revive(queue, id);
    const verdict = overdue?.get(id) ?? verdictOn(queue, job, request);
    const runs = mayRun(verdict);
    const unstarted = verdict === 'isolated' || (runs && entries.length >= (slots ?? Infinity));
    job.status = 'processing';
    job.attempts = String(Number(job.attempts ?? 0) + (runs ? 1 : 0));
    job.claim_token = token;
    job.claimed_at_ms = String(queue.now);
    job.fence = String(++queue.sequence);
    job.worker = worker;
    if (unstarted) {
      mark(job);
    }
    queue.claims.set(id, queue.now + queue.options.visibilityMs);
    batch.claims.push({ id, verdict });
    entries.push(entryOf(id, job, verdict, unstarted));
  }
  if (entries.length > 0) {
    queue.batches.set(`${worker}:${stream}`, batch);
  }
  return entries;
}

/** Returns whether jobs wait for a slot of the queue or of their group. A repeated claim does not look. */
function awaitsSlots(queue: MemoryQueue, isRepeated: boolean): boolean {
  const { hasGroups, limits } = queue.flow;
  const isGrouped = (id: string) => queue.job(id)?.group !== undefined;
  if (isRepeated) {
    return hasGroups || limits.maxRunning !== undefined;
  }
  return (
    queue.pausedAt === undefined &&
    queue.line.some((id) => (isGrouped(id) ? hasGroups : limits.maxRunning !== undefined))
  );
}

/** Counts the wait of free slots for a rate or a rest, unless it is counted already. */
function countWait(queue: MemoryQueue, opensAt: number, { worker, count }: ClaimRequest, taken: number): void {
  if (queue.pausedAt !== undefined || opensAt === Infinity) {
    return;
  }
  if (taken === count) {
    queue.waits.handOver();
  } else if (queue.waits.isAnother(worker, opensAt, queue.now)) {
    queue.count('limited');
  }
}

/** Returns whether an id that was just taken has another place. Its hash was deleted then, and the id enqueued again. */
function isElsewhere(queue: MemoryQueue, id: string): boolean {
  return hasLeft(queue, id) || (queue.job(id)?.status === 'scheduled' && queue.scheduled.has(id));
}

/** Creates a missing hash: a job without a hash is claimed too, and refused. */
function revive(queue: MemoryQueue, id: string): Hash {
  const job: Hash = {};
  queue.jobs.set(id, job);
  return job;
}

/** Returns again the jobs that the claim with this token got and still holds. */
function repeated(queue: MemoryQueue, batch: ClaimBatch, bytes: ClaimBytes): ReplyEntry[] {
  const { token } = batch;
  const held = batch.claims.filter(({ id }) => queue.job(id)?.claim_token === token);
  const handed = held.filter(({ id }) => bytes.takes(queue.job(id)));
  const beyond = held.filter((each) => !handed.includes(each));
  beyond.toReversed().forEach(({ id, verdict }) => putBack(queue, id, verdict));
  batch.claims = beyond.length > 0 ? handed : batch.claims;
  return handed.map(({ id, verdict }) => {
    const job = queue.job(id)!;
    return entryOf(id, job, verdict, isMarked(job));
  });
}

/** Puts a job that its claimer never saw back to the front. */
function putBack(queue: MemoryQueue, id: string, verdict: string): void {
  const job = queue.job(id)!;
  queue.flow.refund(job);
  queue.claims.delete(id);
  removeMark(job);
  const attempts = Number(job.attempts) - (mayRun(verdict) ? 1 : 0);
  Object.assign(job, { claim_token: '', claimed_at_ms: '0', attempts: String(Math.max(0, attempts)) });
  queue.toFront(id, job);
}

function mayRun(verdict: string): boolean {
  return ['', 'expires', 'isolated'].includes(verdict);
}

function entryOf(id: string, job: Hash, verdict: string, unstarted: boolean): ReplyEntry {
  const first = job.attempts === '1' && job.options === undefined && verdict === '' && !unstarted;
  const rest = [
    Number(job.attempts),
    first ? null : (job.options ?? null),
    verdict,
    unstarted ? true : null,
    Number(job.fence),
    job.checkpoint,
  ];
  return [
    id,
    job.name ?? '',
    verdict.startsWith('oversized') ? null : (job.payload ?? null),
    Number(job.enqueued_at_ms ?? 0),
    rest,
  ];
}

/** Returns '' for a job that may run, `isolated` to run it alone, `expires`, or why it must not run. */
function verdictOn(queue: MemoryQueue, job: Hash, request: ClaimRequest): string {
  const { slots } = request;
  const attempts = Math.max(0, Number(job.attempts ?? 0));
  const maxAttempts = Number(job.max_attempts ?? maxAttemptsIn(queue, request, job.name));
  const giant = isGiant(job, giantBytes(queue.options.maxPayloadBytes));
  const refusal = giant
    ? 'oversized'
    : job.payload === undefined
      ? 'missing'
      : job.cancel_requested_at_ms !== undefined
        ? 'cancelled'
        : job.unmet !== undefined
          ? 'unmet'
          : job.expires_at_ms !== undefined && Number(job.expires_at_ms) <= queue.now
            ? 'expired'
            : attempts >= maxAttempts
              ? 'exhausted'
              : undefined;
  if (refusal) {
    return refuse(job, refusal, attempts, String(maxAttempts), giant ? job.payload : undefined);
  }
  if (slots === undefined) {
    return '';
  }
  const isIsolated =
    job.crashes !== undefined && (job.next_crash_is_last !== undefined || attempts + 1 >= maxAttempts);
  return isIsolated ? 'isolated' : job.expires_at_ms === undefined ? '' : 'expires';
}

/** Returns the attempts of a job without its own limit: those of its handler, else those of the claimer. */
function maxAttemptsIn(queue: MemoryQueue, request: ClaimRequest, name: string | undefined): number {
  const { only, attemptLimits = [], maxAttempts = attemptsByHand(queue.options) } = request;
  const ofHandler = (only?.limits ?? attemptLimits).find((limit) => limit.name === name);
  return ofHandler?.maxAttempts ?? maxAttempts;
}

function refuse(job: Hash, reason: string, attempts: number, maxAttempts: string, oversized?: string): string {
  const started = attempts > 0 || job.interruptions !== undefined || job.snoozes !== undefined;
  const details = {
    attempts: String(attempts),
    max_attempts: maxAttempts,
    started,
    last_error: job.last_error,
    unmet: job.unmet,
    ...(oversized !== undefined && { bytes: String(Buffer.byteLength(oversized)) }),
  };
  return `${reason} ${JSON.stringify(details)}`;
}

/** Starts a job that waited in its worker; see lua/attempt/start.lua. */
export function start(queue: MemoryQueue, { id, token, uncharged }: StartedClaim): StartOutcome {
  const job = queue.job(id);
  if (job?.claim_token !== token) {
    return 'lost';
  }
  if (job.expires_at_ms !== undefined && Number(job.expires_at_ms) <= queue.now) {
    mark(job);
    return refusalOf(refuse(job, 'expired', Math.max(0, Number(job.attempts) - 1), ''))!;
  }
  if (!uncharged) {
    removeMark(job);
  } else if (isMarked(job)) {
    mark(job, 'uncharged');
  }
  return 'started';
}
