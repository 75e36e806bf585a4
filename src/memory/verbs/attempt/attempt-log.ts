// Logs attempts that did not complete; see lua/lib/settle/attempt_log.lua.
import type { StoredError } from '../../../queue/errors/stored-error.js';
import type { AttemptRecord } from '../../../queue/model/job.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

const MOST_LOGGED = 20;

type LoggedOutcome = Exclude<AttemptRecord['outcome'], 'completed'>;

interface LoggedAttempt {
  attempt: number;
  fence: number;
  outcome: LoggedOutcome;
  startedAt: number;
  endedAt: number;
  worker: string | null;
  error: StoredError | null;
}

/** The ends of a claim that use no attempt. */
export const REFUNDED: ReadonlySet<string> = new Set(['snooze', 'interruption', 'rate_limited', 'unhandled']);

/** Returns the logged attempts, the oldest first. */
export function attemptsOf(job: Hash): LoggedAttempt[] {
  return (job.attempt_log ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LoggedAttempt);
}

export function logAttempt(
  queue: MemoryQueue,
  job: Hash,
  outcome: LoggedOutcome,
  error: StoredError | null = null,
): void {
  const log = attemptsOf(job);
  while (log.length >= MOST_LOGGED) {
    log.splice(
      Math.max(
        0,
        log.findIndex((entry) => REFUNDED.has(entry.outcome)),
      ),
      1,
    );
  }
  log.push({
    attempt: Number(job.attempts ?? 0),
    fence: Number(job.fence ?? 0),
    outcome,
    startedAt: Number(job.claimed_at_ms ?? 0),
    endedAt: queue.now,
    worker: job.worker ?? null,
    error,
  });
  job.attempt_log = log.map((entry) => JSON.stringify(entry)).join('\n');
}

export function loggedOutcome(job: Hash | undefined, fence: number): string | undefined {
  return job && attemptsOf(job).find((entry) => entry.fence === fence)?.outcome;
}
