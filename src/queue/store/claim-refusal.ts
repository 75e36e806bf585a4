import type { StoredError } from '../model/job.js';
import { cutMessage } from '../model/serialize-error.js';

/** What a claim, or a start, says of a job that must not run; see `lua/lib/settle/refusal.lua`. */
interface Refusal {
  attempts: string;
  /** Its limit, for `exhausted`. */
  max_attempts: string;
  /** Whether a handler may have begun with it before. */
  started: boolean;
  last_error?: string;
}

const CANCELLED = 'JobCancelled';

const REASONS: Record<string, { name: string; tell: (job: Refusal) => string }> = {
  missing: { name: 'BrokenJob', tell: () => 'The job hash is missing: it was deleted or has expired.' },
  cancelled: {
    name: CANCELLED,
    tell: ({ started }) => cancelledMessage(started),
  },
  expired: { name: 'JobExpired', tell: expired },
  exhausted: {
    name: 'AttemptsExhausted',
    tell: ({ attempts, max_attempts: limit }) => `The job has used ${count(attempts)}, and its limit is ${limit}.`,
  },
};

/** The error of a job that was cancelled while it waited. */
export function cancelledError(started: boolean): Error {
  return Object.assign(new Error(cancelledMessage(started)), { name: CANCELLED });
}

function cancelledMessage(started: boolean): string {
  return `The job was cancelled before ${started ? 'its next attempt' : 'it started'}.`;
}

/** The error of a job that must not run, from the verdict on it; undefined where it may. */
export function refusalOf(verdict: string): StoredError | undefined {
  const space = verdict.indexOf(' ');
  const reason = REASONS[verdict.slice(0, Math.max(0, space))];
  if (!reason) {
    return undefined;
  }
  const job = JSON.parse(verdict.slice(space)) as Refusal;
  const before = job.last_error ? ` Its last error: ${job.last_error}` : '';
  return { name: reason.name, message: cutMessage(reason.tell(job) + before) };
}

function expired({ attempts, started }: Refusal): string {
  if (!started) {
    return 'The job was not started within its expiresInMs.';
  }
  return attempts === '0'
    ? 'The job expired after it was given back, before its next attempt.'
    : `The job expired after ${count(attempts)}, before the next one.`;
}

function count(attempts: string): string {
  return `${attempts} ${attempts === '1' ? 'attempt' : 'attempts'}`;
}
