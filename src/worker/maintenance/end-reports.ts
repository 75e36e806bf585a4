import { ClaimLostError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import { SHORTEST_TRIP_MS, LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { within } from '../../queue/runtime/waits.js';
import type { ReclaimedJob } from '../../queue/store/call-outcomes.js';
import { UNMET } from '../../queue/store/claim-refusal.js';
import type { WorkerEventListener } from '../handlers/attempt-middleware.js';
import { Job, type JobReporter } from '../handlers/job.js';
import type { FailureLog } from '../reports/failure-log.js';

/** Reports jobs that maintenance has moved or ended, because their workers cannot: in the log, and as worker events. */
export class EndReports {
  constructor(
    private readonly logger: JobQueueLogger,
    readonly failures: FailureLog,
    private readonly emit?: WorkerEventListener,
  ) {}

  async reclaimed(queue: JobQueue, reclaimed: readonly ReclaimedJob[]): Promise<void> {
    reclaimed.forEach((job) => this.failures.workerLost(job, queue.name));
    await this.emitEnds(queue, reclaimed);
  }

  async unmet(queue: JobQueue, ids: readonly string[]): Promise<void> {
    ids.forEach((id) => this.failures.unmet(id, queue.name));
    await this.emitEnds(
      queue,
      ids.map((id) => ({ id, status: 'failed' })),
      UNMET,
    );
  }

  /** Emits the ends. A failed event must not stop the maintenance. */
  private async emitEnds(queue: JobQueue, ended: readonly SweptJob[], cause?: string): Promise<void> {
    if (this.emit && ended.length > 0) {
      try {
        await within(queue.store.clock, SHORTEST_TRIP_MS, emitEnds(queue, ended, this.emit, cause), () => {
          throw new Error(`no answer within ${SHORTEST_TRIP_MS} ms`);
        });
      } catch (error) {
        this.logger.warn(
          `Could not read ended jobs of queue "${queue.name}", so listeners miss their ends: ${(error as Error).message}`,
        );
      }
    }
  }
}

/** A job that a sweep ended or moved. */
interface SweptJob {
  id: string;
  status: JobStatus;
}

/**
 * Emits events for jobs whose end a sweep found, because their dead workers cannot.
 *
 * @param reclaimed the jobs that the sweep reclaimed; only `failed` and `cancelled` are ends
 * @param cause the name of the error of a job whose attempt log ends with none
 */
async function emitEnds(
  queue: JobQueue,
  reclaimed: readonly SweptJob[],
  emit: WorkerEventListener,
  cause = 'WorkerCrash',
): Promise<void> {
  await Promise.all(
    reclaimed.map(async ({ id, status }) => {
      const record = status === 'failed' || status === 'cancelled' ? await queue.get(id) : null;
      if (record && (status === 'failed' || status === 'cancelled')) {
        emit({ type: status, job: unclaimedJob(record, queue), error: errorOf(record, cause) });
      }
    }),
  );
}

function errorOf({ lastError, attemptLog }: JobRecord, cause: string): Error {
  const crash = attemptLog.at(-1)?.error;
  return Object.assign(new Error(lastError ?? crash?.message), { name: crash?.name ?? cause });
}

/** About how many claims one script call reads. */
const CLAIMS_READ = 200;

/** Reclaims the claims of a worker in a queue. The caller has proof that the worker's process has ended. */
export async function reclaimWorker(queue: JobQueue, worker: string, reports: EndReports): Promise<void> {
  let cursor = '0';
  do {
    const reply = await queue.exec((calls) => calls.sweep.reclaimWorker({ worker, cursor, limit: CLAIMS_READ }), {
      timeoutMs: LONGEST_TRIP_MS,
    });
    await reports.reclaimed(queue, reply.reclaimed);
    cursor = reply.cursor;
  } while (cursor !== '0');
}

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
