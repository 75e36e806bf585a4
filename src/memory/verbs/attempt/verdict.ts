// Whether a claimed job may run; see lua/lib/settle/claim_check.lua.
import { attemptsByHand } from '../../../queue/model/queue-options.js';
import { giantBytes, isGiant, type Refusal } from '../../../queue/store/claim-refusal.js';
import type { ClaimRequest } from '../../../queue/store/store-calls.js';
import type { Verdict } from '../../state/claim-batch.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { unmetOf } from '../batch/unmet.js';

/** Returns whether a job may run, how, or why it must not. */
export function verdictOn(queue: MemoryQueue, job: Hash, request: ClaimRequest): Verdict {
  const { slots } = request;
  const attempts = Math.max(0, Number(job.attempts ?? 0));
  const maxAttempts = Number(job.max_attempts ?? maxAttemptsIn(queue, request, job.name));
  const reason = refusalReason(queue, job, attempts >= maxAttempts);
  if (reason) {
    return refuse(job, reason, attempts, maxAttempts);
  }
  if (slots === undefined) {
    return 'run';
  }
  const isIsolated =
    job.crashes !== undefined && (job.next_crash_is_last !== undefined || attempts + 1 >= maxAttempts);
  return isIsolated ? 'isolated' : job.expires_at_ms === undefined ? 'run' : 'expires';
}

function refusalReason(queue: MemoryQueue, job: Hash, isExhausted: boolean): Refusal['reason'] | undefined {
  if (isGiant(job.payload ?? '', giantBytes(queue.largestPayloadBytes))) {
    return 'oversized';
  }
  if (job.payload === undefined) {
    return 'missing';
  }
  if (job.cancel_requested_at_ms !== undefined) {
    return 'cancelled';
  }
  if (job.unmet !== undefined) {
    return 'unmet';
  }
  if (job.expires_at_ms !== undefined && Number(job.expires_at_ms) <= queue.now) {
    return 'expired';
  }
  return isExhausted ? 'exhausted' : undefined;
}

/** Returns the attempts of a job without its own limit: those of its handler, else those of the claimer. */
export function maxAttemptsIn(queue: MemoryQueue, request: ClaimRequest, name: string | undefined): number {
  const { only, attemptLimits = [], maxAttempts = attemptsByHand(queue.options) } = request;
  const ofHandler = (only?.limits ?? attemptLimits).find((limit) => limit.name === name);
  return ofHandler?.maxAttempts ?? maxAttempts;
}

/** Returns why a job must not run, with its past. */
export function refuse(job: Hash, reason: Refusal['reason'], attempts: number, maxAttempts?: number): Refusal {
  return {
    reason,
    attempts,
    maxAttempts,
    started: attempts > 0 || job.interruptions !== undefined || job.snoozes !== undefined,
    lastError: job.last_error,
    unmet: unmetOf(job),
    bytes: Buffer.byteLength(job.payload ?? ''),
  };
}
