// Ends and extends claims: complete, fail, release and extend; see lua/attempt and lua/lib/settle.
import type { CompleteReply } from '../../../queue/store/complete-reply.js';
import type { Completion, ExtendReply, Failure, Release } from '../../../queue/store/store-calls.js';
import type { FailOutcome, ReleaseOutcome } from '../../../queue/store/call-outcomes.js';
import { exhaustedError } from '../../../queue/errors/exhausted-errors.js';
import { errorFingerprint } from '../../../queue/errors/describe-error.js';
import { REFUNDED, logAttempt, loggedOutcome } from './attempt-log.js';
import { jobEnded } from '../batch/job-ended.js';
import { bury, endCancelled, freeUnique, remember } from './ends.js';
import { limitsOf } from './crash.js';
import { increment } from './increment.js';
import { noteName } from './foreign-names.js';
import { type Hash, type MemoryQueue } from '../../state/memory-queue.js';
import { removeMark } from './unstarted.js';

/** Returns the job, where the claim is its current one. An expired claim stays current until it is reclaimed. */
function claimed(queue: MemoryQueue, { id, token }: { id: string; token: string }): Hash | undefined {
  const job = queue.job(id);
  return job && job.claim_token === token && token !== '' && job.status === 'processing' ? job : undefined;
}

/** Returns the job, where this very claim was the last and has been settled. */
function settledBy(queue: MemoryQueue, { id, fence }: { id: string; fence: number }): Hash | undefined {
  const job = queue.job(id);
  return job?.claim_token === '' && Number(job.fence) === fence ? job : undefined;
}

export function complete(queue: MemoryQueue, completions: readonly Completion[]): CompleteReply {
  const done: string[] = [];
  const lost: number[] = [];
  const { entries } = queue.outbox;
  const known = entries.size;
  let hasEnds = false;
  completions.forEach((completion, i) => {
    const { id, result, resultTtlMs = queue.options.resultTtlMs } = completion;
    const job = claimed(queue, completion);
    if (job) {
      Object.assign(job, { status: 'completed', claim_token: '', completed_at_ms: String(queue.now) });
      if (result !== '') {
        job.result = result;
      }
      delete job.last_error;
      delete job.last_error_at_ms;
      freeUnique(queue, id, job);
      jobEnded(queue, id, job, 'completed', result);
      queue.claims.delete(id);
      queue.forgottenAt.set(id, queue.now + resultTtlMs);
      queue.emit(id, 'completed', queue.options.eventExtras?.results ? { result } : {});
      queue.outcomes.add(queue, id, 'completed', job);
      done.push(id);
    } else if (settledBy(queue, completion)?.status !== 'completed') {
      lost.push(i);
    } else {
      hasEnds ||= entries.size > 0; // the reply to the first call may be lost
    }
  });
  hasEnds ||= entries.size > known;
  queue.count('completed', done.length);
  remember(queue, queue.completed, done, queue.options.completedHistory);
  return { lost, followed: [], ...(hasEnds && { hasEnds: true }) };
}

const FIRST_FAIL: Record<string, FailOutcome> = {
  pending: 'retry',
  scheduled: 'retry',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function fail(queue: MemoryQueue, failures: readonly Failure[]): FailOutcome[] {
  return failures.map((failure) => {
    const job = claimed(queue, failure);
    if (job) {
      return failOne(queue, job, failure);
    }
    const settled = settledBy(queue, failure);
    if (settled) {
      return FIRST_FAIL[settled.status!] ?? 'lost';
    }
    return loggedOutcome(queue.job(failure.id), failure.fence) === 'error' ? 'retry' : 'lost';
  });
}

function failOne(queue: MemoryQueue, job: Hash, failure: Failure): FailOutcome {
  const { id, error, kind = errorFingerprint(error), final, backoffMs, begun } = failure;
  queue.claims.delete(id);
  if (!begun) {
    queue.flow.refund(job);
  }
  const had = begun ? undefined : removeMark(job);
  if (had && had !== 'refused') {
    job.attempts = String(Math.max(0, Number(job.attempts) - 1));
  }
  logAttempt(queue, job, 'error', error);
  increment(job, 'errors');
  Object.assign(job, { claim_token: '', last_error: error.message, last_error_at_ms: String(queue.now) });
  if (job.cancel_requested_at_ms !== undefined) {
    endCancelled(queue, id, job);
    return 'cancelled';
  }
  if (final || Number(job.attempts ?? 0) >= limitsOf(queue, job).maxAttempts) {
    bury(queue, id, job, error.message, kind);
    return 'failed';
  }
  job.claimed_at_ms = '0';
  if (backoffMs > 0) {
    queue.toLater(id, job, queue.now + backoffMs);
    queue.flow.holds.hold(id, job);
  } else {
    queue.toBack(id, job);
  }
  queue.count('retried');
  queue.emit(id, 'retry', { error: error.message });
  return 'retry';
}

const FIRST_RELEASE: Record<string, ReleaseOutcome> = {
  pending: 'released',
  scheduled: 'released',
  cancelled: 'cancelled',
  failed: 'failed',
};

/** Releases claims. The job claimed first must be claimed first again, so it is put to the front last. */
export function release(queue: MemoryQueue, releases: readonly Release[]): ReleaseOutcome[] {
  const outcomes = releases.map((each) => (claimed(queue, each) ? undefined : repeatedRelease(queue, each)));
  const order = [...releases.keys()]
    .filter((i) => outcomes[i] === undefined)
    .toSorted((a, b) => releases[b]!.fence - releases[a]!.fence);
  for (const i of order) {
    const job = claimed(queue, releases[i]!);
    outcomes[i] = job ? releaseOne(queue, job, releases[i]!) : 'released'; // the same claim twice in one call
  }
  return outcomes as ReleaseOutcome[];
}

function repeatedRelease(queue: MemoryQueue, each: Release): ReleaseOutcome {
  const settled = settledBy(queue, each);
  if (settled) {
    return FIRST_RELEASE[settled.status!] ?? 'lost';
  }
  return REFUNDED.has(loggedOutcome(queue.job(each.id), each.fence) ?? '') ? 'released' : 'lost';
}

const RELEASE_COUNTERS = {
  interruption: 'interruptions',
  snooze: 'snoozes',
  rate_limited: 'rate_limited',
  unhandled: 'unhandled',
} as const;

function releaseOne(
  queue: MemoryQueue,
  job: Hash,
  { id, reason, delayMs, name, unstarted, most = mostOf(queue, reason) }: Release,
): ReleaseOutcome {
  queue.claims.delete(id);
  if (unstarted) {
    queue.flow.refund(job);
    removeMark(job);
  }
  const readyAt = job.ready_at_ms;
  const times = increment(job, RELEASE_COUNTERS[reason]);
  const isBounded = reason === 'rate_limited' || reason === 'snooze';
  const exhausted = isBounded && times > most ? exhaustedError(reason, id, most) : undefined;
  logAttempt(queue, job, reason, exhausted ? { name: exhausted.name, message: exhausted.message } : null);
  Object.assign(job, {
    claim_token: '',
    claimed_at_ms: '0',
    attempts: String(Math.max(0, Number(job.attempts ?? 1) - 1)),
  });
  if (job.cancel_requested_at_ms !== undefined) {
    endCancelled(queue, id, job);
    return 'cancelled';
  }
  if (reason === 'rate_limited') {
    queue.flow.rest(job, delayMs);
    queue.count('rate_limited');
  }
  if (exhausted) {
    bury(queue, id, job, exhausted.message, `@${reason}`);
    return 'failed';
  }
  if (delayMs > 0 && reason !== 'rate_limited') {
    queue.toLater(id, job, queue.now + delayMs);
    queue.flow.holds.hold(id, job);
  } else {
    queue.toFront(id, job);
  }
  if (reason === 'unhandled') {
    noteUnhandled(queue, job, name ?? '', readyAt);
  }
  queue.count('released');
  queue.emit(id, 'released');
  return 'released';
}

/** Returns how often a job may be released for this reason. */
function mostOf(queue: MemoryQueue, reason: Release['reason']): number {
  return reason === 'snooze' ? queue.options.maxSnoozes : queue.options.maxRateLimitRetries;
}

function noteUnhandled(queue: MemoryQueue, job: Hash, name: string, readyAt: string | undefined): void {
  job.unhandled_at_ms ??= String(queue.now);
  if (name !== '') {
    noteName(job, name);
  }
  if (readyAt === undefined) {
    delete job.ready_at_ms;
  } else {
    job.ready_at_ms = readyAt;
  }
}

export function extend(
  queue: MemoryQueue,
  claims: readonly { id: string; token: string }[],
  visibilityMs: number,
): ExtendReply {
  const reply: ExtendReply = { lost: [], cancelRequested: [] };
  queue.longestVisibilityMs = Math.max(queue.longestVisibilityMs, visibilityMs);
  for (const { id, token } of claims) {
    const job = queue.job(id);
    if (job?.claim_token !== token) {
      reply.lost.push(id);
      continue;
    }
    queue.claims.set(id, queue.now + visibilityMs);
    if (job.cancel_requested_at_ms !== undefined) {
      reply.cancelRequested.push(id);
    }
  }
  return reply;
}
