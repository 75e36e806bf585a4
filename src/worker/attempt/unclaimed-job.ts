import { ClaimLostError } from '../../queue/errors/errors.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { Job, type JobReporter } from '../handlers/job.js';

/** There is no attempt, or no longer one, to report on it. */
const noReporter: JobReporter = {
  progress: ({ id }) => Promise.reject(new ClaimLostError(id)),
  log: ({ id }) => Promise.reject(new ClaimLostError(id)),
  checkpoint: ({ id }) => Promise.reject(new ClaimLostError(id)),
  stream: ({ id }) => Promise.reject(new ClaimLostError(id)),
  steps: ({ id }) => Promise.reject(new ClaimLostError(id)),
  recordStep: ({ id }) => Promise.reject(new ClaimLostError(id)),
  wait: ({ id }) => Promise.reject(new ClaimLostError(id)),
};

/** Returns the job of an event whose job no worker holds. */
export function unclaimedJob(record: JobRecord, queue: JobQueue): Job {
  const {
    id,
    name,
    payload,
    metadata,
    startedOverAt,
    attempts,
    maxAttempts = queue.options.maxAttempts,
    fence = 0,
  } = record;
  const claim = {
    id,
    name,
    queue: queue.name,
    payload,
    attempt: attempts,
    maxAttempts,
    fence,
    token: '',
    enqueuedAtMs: record.enqueuedAt.getTime(),
    claimedAtMs: record.attemptLog.at(-1)?.startedAt.getTime() ?? 0,
    options: {
      ...(metadata && { metadata }),
      ...(startedOverAt && { startedOverAtMs: startedOverAt.getTime() }),
    },
    plain: false,
    nameless: false,
    isolated: false,
    prefetched: false,
    expires: false,
  };
  const { redact } = queue.options;
  return new Job(claim, redact ? { ...noReporter, redact } : noReporter);
}
