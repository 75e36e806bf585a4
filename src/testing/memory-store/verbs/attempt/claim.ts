// Claims jobs; see lua/attempt/claim.lua. The reply is decoded like that of the script.
import { refusalOf } from '../../../../queue/store/claim-refusal.js';
import type { StoredError } from '../../../../queue/errors/stored-error.js';
import type { ClaimReply, ClaimRequest } from '../../../../queue/store/store-calls.js';
import type { TakenJobs } from '../../state/flow-control.js';
import { headByTurn } from '../../state/head-by-turn.js';
import { decodeClaim, decodeNamedClaim } from '../../../../queue/replies/decode-claim.js';
import { removeFirst, type ClaimBatch, type Hash, type MemoryQueue } from '../../state/memory-queue.js';

/** The entry of one job in the reply of lua/attempt/claim.lua. */
type ReplyEntry = [string, string, string | null, number, unknown[]];

interface Taken extends TakenJobs {
  left?: { elsewhere: boolean };
}

export function claim(queue: MemoryQueue, request: ClaimRequest): ClaimReply {
  const { worker, stream, token, only, attemptLimits = [] } = request;
  const claimer = `${worker}:${stream}`;
  const last = queue.batches.get(claimer);
  const entries: ReplyEntry[] = [];
  let dueInMs = -1;
  let left: Taken['left'];
  const isRepeated = last?.token === token && last.keptUntil > queue.now;
  if (isRepeated) {
    entries.push(...repeated(queue, last));
  } else {
    queue.promote(Math.max(request.count, 100));
    const rests = queue.pausedAt !== undefined || queue.restsUntil > queue.now;
    const taken: Taken = rests ? { ids: [] } : take(queue, request);
    left = taken.left;
    const soonest = queue.scheduled.members()[0];
    const opensAt = queue.flow.opensAt(queue.line, taken);
    const dueAt = Math.min(opensAt, soonest === undefined ? Infinity : queue.scheduled.score(soonest)!);
    if (queue.pausedAt === undefined && dueAt !== Infinity) {
      dueInMs = Math.max(0, dueAt - queue.now);
    }
    countWait(queue, opensAt, request, taken.ids.length);
    entries.push(...claimAll(queue, request, claimer, taken.ids));
    if (taken.ids.length > 0 && (queue.hasClaimable || dueInMs === 0)) {
      queue.host.wake(queue.name);
    }
  }
  const isLimited = queue.flow.isActive || queue.restsUntil > queue.now;
  const end = isLimited ? [awaitsSlots(queue, isRepeated) ? 2 : 1] : [];
  const reply = [queue.now, dueInMs, 0, ...entries.flat(1), ...end];
  const maxAttemptsOf = (name: string) =>
    (only?.limits ?? attemptLimits).find((limit) => limit.name === name)?.maxAttempts ?? queue.options.maxAttempts;
  return only
    ? decodeNamedClaim([reply, -1, left?.elsewhere ? 1 : 0], queue.name, token, maxAttemptsOf)
    : decodeClaim(reply, queue.name, token, maxAttemptsOf);
}

function take(queue: MemoryQueue, { count, only, slots = count }: ClaimRequest): Taken {
  const names = only && new Set(only.limits.map(({ name }) => name));
  if (queue.flow.isActive) {
    const isMine = names && ((id: string) => names.has(queue.job(id)?.name ?? queue.name));
    const taken = queue.flow.take(queue.line, Math.min(count, slots), isMine);
    taken.ids.forEach((id) => queue.takeOut(id));
    return {
      ...taken,
      ...(names && { left: leftOf(queue, queue.line, names) }),
    };
  }
  if (!names) {
    return { ids: takeNext(queue, count) };
  }
  const ids = takeNamed(queue, names, count);
  return { ids, left: leftOf(queue, queue.line, names) };
}

/** Returns whether a live worker handles a job that the claim left because of its name. */
function leftOf(queue: MemoryQueue, ids: readonly string[], names: ReadonlySet<string>): Taken['left'] {
  const others = ids.map((id) => queue.job(id)?.name ?? queue.name).filter((name) => !names.has(name));
  return { elsewhere: others.some((name) => queue.isServed(name)) };
}

/** Takes jobs of certain names from a queue without limits and groups. */
function takeNamed(queue: MemoryQueue, names: ReadonlySet<string>, count: number): string[] {
  const mine = queue.line.filter((id) => names.has(queue.job(id)?.name ?? queue.name));
  const urgent = mine.filter((id) => queue.prioritized.has(id));
  const others = mine.filter((id) => !queue.prioritized.has(id));
  const ids: string[] = [];
  while (ids.length < Math.min(count, mine.length)) {
    const head = headByTurn({ urgent, others, rank: () => 0 }, queue.sequence + ids.length + 1, true)!;
    removeFirst(urgent, head);
    removeFirst(others, head);
    queue.takeOut(head);
    ids.push(head);
  }
  return ids;
}

/** Takes jobs of a queue without limits and groups. */
function takeNext(queue: MemoryQueue, count: number): string[] {
  const ids: string[] = [];
  let turn = queue.sequence;
  while (ids.length < count && queue.prioritized.size > 0) {
    turn += 1;
    const urgent = queue.prioritized.members();
    const rank = (id: string) => queue.prioritized.score(id)!;
    const id = headByTurn({ urgent, others: queue.pending, rank }, turn)!;
    queue.takeOut(id);
    ids.push(id);
  }
  return [...ids, ...queue.pending.splice(0, count - ids.length)];
}

function claimAll(
  queue: MemoryQueue,
  request: ClaimRequest,
  claimer: string,
  ids: readonly string[],
): ReplyEntry[] {
  const { token, worker, slots } = request;
  const entries: ReplyEntry[] = [];
  const batch: ClaimBatch = { token, claims: [], keptUntil: queue.now + queue.options.visibilityMs };
  for (const id of ids) {
    const job = queue.job(id) ?? revive(queue, id);
    const verdict = verdictOn(queue, job, request);
    const runs = verdict === '' || verdict === 'expires' || verdict === 'isolated';
    const unstarted = verdict === 'isolated' || (runs && entries.length >= (slots ?? Infinity));
    job.status = 'processing';
    job.attempts = String(Number(job.attempts ?? 0) + (runs ? 1 : 0));
    job.claim_token = token;
    job.claimed_at_ms = String(queue.now);
    job.fence = String(++queue.sequence);
    job.worker = worker;
    if (unstarted) {
      job.unstarted_fence = job.fence;
    }
    queue.claims.set(id, queue.now + queue.options.visibilityMs);
    batch.claims.push({ id, verdict });
    entries.push(entryOf(id, job, verdict, unstarted));
  }
  if (entries.length > 0) {
    queue.batches.set(claimer, batch);
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

/** Creates a missing hash: a job without a hash is claimed too, and refused. */
function revive(queue: MemoryQueue, id: string): Hash {
  const job: Hash = {};
  queue.jobs.set(id, job);
  return job;
}

/** Returns again the jobs that the claim with this token got and still holds. */
function repeated(queue: MemoryQueue, { token, claims }: ClaimBatch): ReplyEntry[] {
  return claims.flatMap(({ id, verdict }) => {
    const job = queue.job(id);
    return job?.claim_token === token ? [entryOf(id, job, verdict, job.unstarted_fence === job.fence)] : [];
  });
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
  return [id, job.name ?? '', job.payload ?? null, Number(job.enqueued_at_ms ?? 0), rest];
}

/** Returns '' for a job that may run, `isolated` to run it alone, `expires`, or why it must not run. */
function verdictOn(queue: MemoryQueue, job: Hash, { slots, attemptLimits = [], only }: ClaimRequest): string {
  const attempts = Math.max(0, Number(job.attempts ?? 0));
  const limits = only?.limits ?? attemptLimits;
  const ofHandler = limits.find(({ name }) => name === job.name)?.maxAttempts;
  const maxAttempts = Number(job.max_attempts ?? ofHandler ?? queue.options.maxAttempts);
  const refusal =
    job.payload === undefined
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
    return refuse(job, refusal, attempts, String(maxAttempts));
  }
  if (slots === undefined) {
    return '';
  }
  const isIsolated =
    job.crashes !== undefined && (job.next_crash_is_last !== undefined || attempts + 1 >= maxAttempts);
  return isIsolated ? 'isolated' : job.expires_at_ms === undefined ? '' : 'expires';
}

function refuse(job: Hash, reason: string, attempts: number, maxAttempts: string): string {
  const started = attempts > 0 || job.interruptions !== undefined || job.snoozes !== undefined;
  const details = {
    attempts: String(attempts),
    max_attempts: maxAttempts,
    started,
    last_error: job.last_error,
    unmet: job.unmet,
  };
  return `${reason} ${JSON.stringify(details)}`;
}

/** Starts a job that waited in its worker; see lua/attempt/start.lua. */
export function start(queue: MemoryQueue, id: string, token: string): 'started' | 'lost' | StoredError {
  const job = queue.job(id);
  if (job?.claim_token !== token) {
    return 'lost';
  }
  if (job.expires_at_ms !== undefined && Number(job.expires_at_ms) <= queue.now) {
    job.unstarted_fence = job.fence!;
    return refusalOf(refuse(job, 'expired', Math.max(0, Number(job.attempts) - 1), ''))!;
  }
  delete job.unstarted_fence;
  return 'started';
}
