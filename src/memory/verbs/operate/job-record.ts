// The record of a job, as callers see it.
import { jsonLines, parseJson } from '../../../queue/codec/parse-json.js';
import type { AttemptRecord, ClaimedJobOptions, JobRecord, JobStatus } from '../../../queue/model/job.js';
import type { LogLine } from '../../../queue/model/step.js';
import { redrivenField, refsOf, splitRef } from '../../../queue/store/job-ref.js';
import type { Hash } from '../../state/memory-queue.js';
import { attemptsOf } from '../attempt/attempt-log.js';
import { stepsOf } from '../attempt/step.js';
import { isUnstarted } from '../attempt/unstarted.js';
import { withoutUndefined } from '../../../queue/runtime/fields.js';

/** Returns the record of a job of a queue. */
export function jobRecord(queue: string, id: string, job: Hash): JobRecord {
  const options = JSON.parse(job.options ?? '{}') as ClaimedJobOptions;
  const steps = stepsOf(job).map(({ result: _result, ...step }) => step);
  return withoutUndefined<JobRecord>({
    id,
    name: job.name ?? queue,
    queue,
    status: job.status as JobStatus,
    payload: parseJson(job.payload).value,
    attempts: Number(job.attempts ?? 0),
    errors: Number(job.errors ?? 0),
    crashes: Number(job.crashes ?? 0),
    interruptions: Number(job.interruptions ?? 0),
    unhandled: Number(job.unhandled ?? 0),
    priority: Number(job.priority ?? 0),
    enqueuedAt: new Date(Number(job.enqueued_at_ms ?? 0)),
    attemptLog: attemptLogOf(job),
    log: jsonLines<{ at: number; message: string }>(job.log).map(({ at, message }): LogLine => ({
      at: new Date(at),
      message,
    })),
    rateLimited: numberOf(job.rate_limited),
    result: parseJson(job.result).value,
    progress: parseJson(job.progress).value,
    checkpoint: parseJson(job.checkpoint).value,
    steps: job.steps === undefined ? undefined : steps,
    maxAttempts: numberOf(job.max_attempts),
    fence: numberOf(job.fence),
    dueAt: dateOf(job.due_at_ms),
    claimedAt: dateOf(job.claimed_at_ms),
    completedAt: dateOf(job.completed_at_ms),
    failedAt: dateOf(job.failed_at_ms),
    cancelledAt: dateOf(job.cancelled_at_ms),
    cancelRequestedAt: dateOf(job.cancel_requested_at_ms),
    expiresAt: dateOf(job.expires_at_ms),
    lastErrorAt: dateOf(job.last_error_at_ms),
    metadata: options.metadata,
    batch: job.batch === undefined ? undefined : batchOf(queue, job.batch),
    after: job.after === undefined ? undefined : refsOf(queue, job.after),
    followedBy: job.dependents === undefined ? undefined : refsOf(queue, job.dependents),
    worker: job.worker,
    ...(job.status === 'processing' && isUnstarted(job) && unstartedFields(job)),
    group: job.group,
    schedule: job.schedule,
    ...redrivenField(job.redriven_from, job.redriven_as),
    lastError: job.last_error,
    errorKind: job.error_kind,
  });
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** Returns a time. 0 stands for "not now". */
function dateOf(ms: string | undefined): Date | undefined {
  return Number(ms ?? 0) === 0 ? undefined : new Date(Number(ms));
}

function batchOf(home: string, ref: string): JobRecord['batch'] {
  const { queue, id } = splitRef(home, ref);
  return queue === '' ? { queue: home, id, role: 'follow-up' } : { queue, id, role: 'member' };
}

/** Returns the fields of an unstarted job. It is isolated if another crash would bury it. */
function unstartedFields(job: Hash): Pick<JobRecord, 'unstarted' | 'isolated'> {
  const isLast = Number(job.attempts) >= Number(job.max_attempts ?? Infinity);
  const isIsolated = job.crashes !== undefined && (job.next_crash_is_last !== undefined || isLast);
  return { unstarted: true, ...(isIsolated && { isolated: true }) };
}

/** Returns the logged attempts, and the completed one, which is not logged. */
function attemptLogOf(job: Hash): AttemptRecord[] {
  const logged = attemptsOf(job).map(({ startedAt, endedAt, ...attempt }): AttemptRecord => ({
    ...attempt,
    startedAt: new Date(startedAt),
    endedAt: new Date(endedAt),
  }));
  if (job.status !== 'completed') {
    return logged;
  }
  const completed: AttemptRecord = {
    attempt: Number(job.attempts),
    startedAt: new Date(Number(job.claimed_at_ms)),
    endedAt: new Date(Number(job.completed_at_ms)),
    worker: job.worker ?? null,
    outcome: 'completed',
    error: null,
  };
  return [...logged, completed];
}
