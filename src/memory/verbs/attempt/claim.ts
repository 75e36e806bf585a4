// Claims jobs; see lua/attempt/claim.lua.
import { parseJson } from '../../../queue/codec/parse-json.js';
import type { ClaimedJob, ClaimedJobOptions, RefusedJob } from '../../../queue/model/job.js';
import {
  giantBytes,
  refusalError,
  type Refusal,
  type UnhandledRefusal,
} from '../../../queue/store/claim-refusal.js';
import { configuresLimits } from '../../../queue/model/limits.js';
import type { StartOutcome } from '../../../queue/store/call-outcomes.js';
import type { ClaimReply, ClaimRequest, LeftJobs, StartedClaim } from '../../../queue/store/store-calls.js';
import { headByTurn } from '../../state/head-by-turn.js';
import type { ClaimBatch, Verdict } from '../../state/claim-batch.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { boundLimits } from '../limits.js';
import { notePayload } from '../workers.js';
import { promote } from '../promote.js';
import { ClaimBytes } from './claim-bytes.js';
import { hasLeft } from './has-left.js';
import { NamedJobs, takeNamed, type Taken } from './take-named.js';
import { SlotBound } from './slot-bound.js';
import { isMarked, mark, removeMark } from './unstarted.js';
import { maxAttemptsIn, refuse, verdictOn } from './verdict.js';

/** A job that a claim hands out, with the verdict on it. */
interface HandedJob {
  job: ClaimedJob;
  verdict: Verdict;
}

export function claim(queue: MemoryQueue, request: ClaimRequest): ClaimReply {
  const { worker, stream, token, only } = request;
  const claimer = `${worker}:${stream}`;
  boundLimits(queue);
  queue.longestVisibilityMs = Math.max(queue.longestVisibilityMs, queue.options.visibilityMs);
  if (request.slots === undefined) {
    notePayload(queue, queue.options); // a claim by hand: a worker has announced its own
  }
  const last = queue.batches.get(claimer);
  const bytes = new ClaimBytes(request.mostBytes, giantBytes(queue.largestPayloadBytes));
  const named = only && new NamedJobs(queue, only.limits);
  const isRepeated = last?.token === token && last.keptUntil > queue.now;
  const bound = new SlotBound(queue, request);
  const isUnannounced = !isRepeated && !knowsLimits(queue, request);
  const { handed, dueInMs } = isRepeated
    ? { handed: repeated(queue, request, last, bytes), dueInMs: undefined }
    : isUnannounced
      ? { handed: [], dueInMs: undefined }
      : claimNew(queue, request, { bytes, bound, named });
  const left = named && !isRepeated && queue.paused === undefined ? named.left : NOTHING_LEFT;
  if (left.elsewhere) {
    queue.host.wake(queue.name); // for the worker that handles it
  }
  return {
    jobs: handed.flatMap(({ job, verdict }) => (typeof verdict === 'object' ? [] : [job])),
    refused: handed.flatMap(({ job, verdict }) => (typeof verdict === 'object' ? [refused(job, verdict)] : [])),
    nextDueInMs: bytes.isFull ? undefined : dueInMs,
    isFull: bytes.isFull,
    isUnannounced,
    ...bound.met(isRepeated),
    ...(only && { left }),
  };
}

/** Returns false for a worker that configures limits, while no limits of a worker are known. */
function knowsLimits({ flow, options }: MemoryQueue, { announces }: ClaimRequest): boolean {
  return !announces || !configuresLimits(options) || flow.configured !== undefined;
}

const NOTHING_LEFT: LeftJobs = { cursor: -1, elsewhere: false, unserved: [] };

function refused(job: ClaimedJob, verdict: Refusal | UnhandledRefusal): RefusedJob {
  return { id: job.id, token: job.token, fence: job.fence, error: refusalError(verdict), job };
}

/** What decides which jobs a claim takes. */
interface Bounds {
  readonly bytes: ClaimBytes;
  readonly bound: SlotBound;
  readonly named: NamedJobs | undefined;
}

function claimNew(queue: MemoryQueue, request: ClaimRequest, bounds: Bounds) {
  promote(queue, Math.max(request.count, 100));
  const isPaused = queue.paused !== undefined;
  const taken: Taken = isPaused ? { ids: [], waiting: [] } : take(queue, bounds);
  const soonest = queue.scheduled.members()[0];
  const opensAt = queue.flow.opensAt(taken.waiting, taken);
  const dueAt = Math.min(opensAt, soonest === undefined ? Infinity : queue.scheduled.score(soonest)!);
  const nextAt = isPaused ? (queue.paused?.untilMs ?? Infinity) : dueAt;
  const dueInMs = nextAt === Infinity ? undefined : Math.max(0, nextAt - queue.now);
  countWait(queue, opensAt, request.worker, { free: bounds.bound.slots, taken: taken.ids.length });
  const handed = claimAll(queue, request, taken.ids, bounds.named?.overdue);
  if ((taken.ids.length > 0 || bounds.bound.isCut) && (queue.hasClaimable || dueInMs === 0)) {
    queue.host.wake(queue.name);
  }
  return { handed, dueInMs };
}

function take(queue: MemoryQueue, { bytes, bound, named }: Bounds): Taken {
  const { flow } = queue;
  const { most } = bound;
  const fits = (id: string) => bound.takes(id) && bytes.takes(queue.job(id));
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
  overdue?: ReadonlyMap<string, Verdict>,
): HandedJob[] {
  const { token, worker, stream, slots } = request;
  const handed: HandedJob[] = [];
  const batch: ClaimBatch = { token, claims: [], keptUntil: queue.now + queue.options.visibilityMs };
  for (const id of ids) {
    if (isElsewhere(queue, id)) {
      continue;
    }
    const job = queue.job(id) ?? revive(queue, id);
    const verdict = overdue?.get(id) ?? verdictOn(queue, job, request);
    const runs = mayRun(verdict);
    const unstarted = verdict === 'isolated' || (runs && handed.length >= (slots ?? Infinity));
    job.status = 'processing';
    job.attempts = String(Number(job.attempts ?? 0) + (runs ? 1 : 0));
    job.claim_token = token;
    job.claimed_at_ms = String(queue.now);
    job.fence = String(++queue.sequence);
    job.worker = worker;
    if (unstarted || !runs) {
      mark(job, runs ? '1' : 'refused');
    }
    queue.claims.set(id, queue.now + queue.options.visibilityMs);
    batch.claims.push({ id, verdict });
    handed.push(handOut(queue, request, id, verdict));
  }
  if (handed.length > 0) {
    queue.batches.set(`${worker}:${stream}`, batch);
  }
  return handed;
}

/** Counts the wait of free slots for a rate or a rest, unless it is counted already. */
function countWait(
  queue: MemoryQueue,
  opensAt: number,
  worker: string,
  { free, taken }: { free: number; taken: number },
): void {
  if (queue.paused !== undefined || opensAt === Infinity || free === 0) {
    return;
  }
  if (taken >= free) {
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
function repeated(queue: MemoryQueue, request: ClaimRequest, batch: ClaimBatch, bytes: ClaimBytes): HandedJob[] {
  const { token } = batch;
  const held = batch.claims.filter(({ id }) => queue.job(id)?.claim_token === token);
  const handed = held.filter(({ id }) => bytes.takes(queue.job(id)));
  const beyond = held.filter((each) => !handed.includes(each));
  beyond.toReversed().forEach(({ id, verdict }) => putBack(queue, id, verdict));
  batch.claims = beyond.length > 0 ? handed : batch.claims;
  return handed.map(({ id, verdict }) => handOut(queue, request, id, verdict));
}

/** Puts a job that its claimer never saw back to the front. */
function putBack(queue: MemoryQueue, id: string, verdict: Verdict): void {
  const job = queue.job(id)!;
  queue.flow.refund(job);
  queue.claims.delete(id);
  removeMark(job);
  const attempts = Number(job.attempts) - (mayRun(verdict) ? 1 : 0);
  Object.assign(job, { claim_token: '', claimed_at_ms: '0', attempts: String(Math.max(0, attempts)) });
  queue.toFront(id, job);
}

function mayRun(verdict: Verdict): boolean {
  return typeof verdict === 'string';
}

function handOut(queue: MemoryQueue, request: ClaimRequest, id: string, verdict: Verdict): HandedJob {
  const job = queue.job(id)!;
  const options = JSON.parse(job.options ?? '{}') as ClaimedJobOptions & { plain?: true };
  const { plain: isPlain, ...others } = options;
  const isOversized = typeof verdict === 'object' && verdict.reason === 'oversized';
  const attempt = Number(job.attempts);
  const name = job.name ?? queue.name;
  const claimed: ClaimedJob = {
    id,
    name,
    queue: queue.name,
    payload: isOversized ? undefined : parseJson(job.payload).value,
    attempt,
    maxAttempts: others.maxAttempts ?? maxAttemptsIn(queue, request, name),
    fence: Number(job.fence),
    token: request.token,
    enqueuedAtMs: Number(job.enqueued_at_ms ?? 0),
    claimedAtMs: queue.now,
    options: others,
    plain: attempt === 1 && verdict === 'run' && (job.options === undefined || isPlain === true),
    nameless: job.name === undefined || others.nameless === true,
    isolated: verdict === 'isolated',
    prefetched: mayRun(verdict) && verdict !== 'isolated' && isMarked(job),
    expires: verdict === 'expires',
    checkpoint: parseJson(job.checkpoint).value,
  };
  return { job: claimed, verdict };
}

/** Starts a job that waited in its worker; see lua/attempt/start.lua. */
export function start(queue: MemoryQueue, { id, token, uncharged }: StartedClaim): StartOutcome {
  const job = queue.job(id);
  if (job?.claim_token !== token) {
    return 'lost';
  }
  if (job.expires_at_ms !== undefined && Number(job.expires_at_ms) <= queue.now) {
    mark(job);
    return refusalError(refuse(job, 'expired', Math.max(0, Number(job.attempts) - 1)));
  }
  if (!uncharged) {
    removeMark(job);
  } else if (isMarked(job)) {
    mark(job, 'uncharged');
  }
  return 'started';
}
