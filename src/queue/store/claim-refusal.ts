import type { StoredError } from '../errors/stored-error.js';
import { show } from '../errors/show.js';
import { splitRef } from './job-ref.js';
import { cutMessage } from '../errors/serialize-error.js';

/** The verdict of a claim or a start on a job that must not run; see `lua/lib/settle/refusal.lua`. */
interface Refusal {
  attempts: string;
  /** Its limit, for `exhausted`. */
  max_attempts: string;
  /** True if an earlier attempt may have started its handler. */
  started: boolean;
  last_error?: string;
  /** The job that should have ended well before this one, and its end. */
  unmet?: string;
  /** The size of an oversized payload. */
  bytes?: string;
}

/** The least size of a payload that no worker loads. A smaller one may be valid for another worker or producer. */
const LEAST_GIANT_BYTES = 32 * 1024 * 1024;

/** Returns the size beyond which a worker does not load a payload, because it would hold up its other jobs. */
export function giantBytes(maxPayloadBytes: number): number {
  return Math.max(2 * maxPayloadBytes, LEAST_GIANT_BYTES);
}

/** The verdict on a job that waited too long for a worker of its name; see `lua/lib/place/unserved.lua`. */
interface Unhandled {
  name: string;
  waited_ms: string;
  /** The number of releases of the job by workers. */
  times: string;
  /** The number of live workers of the queue. */
  workers: number;
  /** Some of the names that they announced; an empty object for none. */
  known: readonly string[] | Record<string, never>;
}

const CANCELLED = 'JobCancelled';

/** The error name of a job that must not run, because a job of its `after` did not end well. */
export const UNMET = 'JobUnmet';

const REASONS: Record<string, { name: string; describe: (job: Refusal & Unhandled) => string }> = {
  missing: { name: 'BrokenJob', describe: () => 'The job hash is missing: it was deleted or has expired.' },
  oversized: {
    name: 'JobOversized',
    describe: ({ bytes }) =>
      `The payload has ${bytes} bytes, too many to load. Raise maxPayloadBytes and redrive the job, or discard it.`,
  },
  cancelled: {
    name: CANCELLED,
    describe: ({ started }) => cancelledMessage(started),
  },
  unmet: { name: UNMET, describe: ({ unmet }) => unmetMessage(unmet) },
  expired: { name: 'JobExpired', describe: expired },
  exhausted: {
    name: 'AttemptsExhausted',
    describe: ({ attempts, max_attempts: limit }) =>
      `The job has used ${count(attempts)}, and its limit is ${limit}.`,
  },
  unhandled: { name: 'JobUnhandled', describe: unhandledMessage },
};

/** Returns the error of a job that was cancelled while it waited. */
export function cancelledError(started: boolean): Error {
  return Object.assign(new Error(cancelledMessage(started)), { name: CANCELLED });
}

function cancelledMessage(started: boolean): string {
  return `The job was cancelled before ${started ? 'its next attempt' : 'it started'}.`;
}

/** Returns the error of a job that must not run, from the verdict on it; undefined if it may. */
export function refusalOf(verdict: string): StoredError | undefined {
  const space = verdict.indexOf(' ');
  const reason = REASONS[verdict.slice(0, Math.max(0, space))];
  if (!reason) {
    return undefined;
  }
  const job = JSON.parse(verdict.slice(space)) as Refusal & Unhandled;
  const before = job.last_error ? ` Its last error: ${job.last_error}` : '';
  return { name: reason.name, message: cutMessage(reason.describe(job) + before) };
}

function expired({ attempts, started }: Refusal): string {
  if (!started) {
    return 'The job was not started within its expiresInMs.';
  }
  return attempts === '0'
    ? 'The job expired after it was released, before its next attempt.'
    : `The job expired after ${count(attempts)}, before the next one.`;
}

/** Returns the reason of its dead letter. @param unmet the other job, a blank, and its end */
export function unmetMessage(unmet = ''): string {
  const [, id, status] = /^(.+) ([a-z]+)$/s.exec(unmet) ?? [];
  const how = status === 'removed' ? 'was deleted' : status === 'cancelled' ? 'was cancelled' : 'failed';
  const job = splitRef('', id ?? '');
  const place = job.queue === '' ? '' : ` of the queue ${show(job.queue)}`;
  return `Job ${job.id}${place}, after which this job was to start, ${how}. Redrive this job to run it without waiting.`;
}

function unhandledMessage({ name, waited_ms: waitedMs, times, workers, known }: Unhandled): string {
  const names = Object.values(known).map(show);
  const announced = names.length === 0 ? 'none of them announced a name' : `they announced ${names.join(', ')}`;
  return (
    `No live worker handles the name ${show(name)}: the job waited for one for ${Math.round(Number(waitedMs) / 60_000)} ` +
    `minutes, and was released ${times} times. Live workers of this queue: ${workers}; ${announced}. ` +
    'Deploy a handler for the name, then redrive the job.'
  );
}

function count(attempts: string): string {
  return `${attempts} ${attempts === '1' ? 'attempt' : 'attempts'}`;
}
