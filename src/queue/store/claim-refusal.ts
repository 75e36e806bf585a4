// Why a claimed job must not run, and the error that says so.
import { codecOf } from '../codec/codec.js';
import { type StoredError, cutMessage } from '../errors/stored-error.js';
import { show } from '../errors/show.js';
import type { JobReference } from '../model/batch.js';

/** A job that must not run. */
export interface Refusal {
  reason: 'missing' | 'oversized' | 'cancelled' | 'unmet' | 'expired' | 'exhausted';
  attempts: number;
  /** Its limit, for `exhausted`. */
  maxAttempts?: number | undefined;
  /** True if an earlier attempt may have started its handler. */
  started: boolean;
  lastError?: string | undefined;
  /** The job that should have ended well before this one. */
  unmet?: UnmetJob | undefined;
  /** The size of an oversized payload, or of another part. */
  bytes?: number | undefined;
  /** The part that is too long, if not the payload. */
  part?: 'id' | 'name' | 'group' | 'options' | undefined;
  /** The start of such a part. */
  start?: string | undefined;
}

/** A job that waited too long for a worker of its name. */
interface UnhandledRefusal {
  reason: 'unhandled';
  name: string;
  waitedMs: number;
  /** The number of releases of the job by workers. */
  times: number;
  /** The number of live workers of the queue. */
  workers: number;
  /** Some of the names that they announced. */
  known: readonly string[];
}

/** A job that did not end well, and its end. */
export interface UnmetJob {
  job: JobReference;
  /** Undefined if it is unknown. */
  status: string | undefined;
}

/** The greatest limit for payloads that no claim by hand must note; see lua/lib/limits/largest.lua. */
export const USUAL_PAYLOAD_BYTES = 16 * 1024 * 1024;

/** The size beyond which no worker loads a payload, because it would hold up its other jobs. */
const GIANT_BYTES = 2 * USUAL_PAYLOAD_BYTES;

/** Returns whether a payload has more than some bytes. A UTF-16 unit takes at most 3 bytes, so few are measured. */
export function isGiant(payload: string, bytes = GIANT_BYTES): boolean {
  return payload.length * 3 > bytes && Buffer.byteLength(payload) > bytes;
}

const CANCELLED = 'JobCancelled';

/** The error name of a job that must not run, because a job of its `after` did not end well. */
export const UNMET = 'JobUnmet';

type Reasons<Of extends { reason: string }> = Record<
  Of['reason'],
  { name: string; describe: (refusal: Of) => string }
>;

const REASONS: Reasons<Refusal> & Reasons<UnhandledRefusal> = {
  missing: { name: 'BrokenJob', describe: () => 'The job hash is missing: it was deleted or has expired.' },
  oversized: {
    name: 'JobOversized',
    describe: ({ bytes, part, start = '' }) =>
      part === undefined
        ? `The payload has ${bytes} bytes, too many to load. Raise maxPayloadBytes and redrive the job, or discard it.`
        : `The ${part} of the job has ${bytes} bytes, which no enqueue takes${start === '' ? '' : `. It begins with ${show(start)}`}. ` +
          'Find the program that writes such jobs. Then redrive this one, or discard it.',
  },
  cancelled: { name: CANCELLED, describe: ({ started }) => cancelledMessage(started) },
  unmet: { name: UNMET, describe: ({ unmet }) => unmetMessage(unmet) },
  expired: { name: 'JobExpired', describe: expired },
  exhausted: {
    name: 'AttemptsExhausted',
    describe: ({ attempts, maxAttempts }) =>
      `The job has used ${count(attempts)}, and its limit is ${maxAttempts}.`,
  },
  unhandled: { name: 'JobUnhandled', describe: unhandledMessage },
};

/** Returns whether a word is the reason of a refusal. */
export function isRefusalReason(word: string): word is (Refusal | UnhandledRefusal)['reason'] {
  return Object.hasOwn(REASONS, word);
}

/** Returns the error of a job that was cancelled while it waited. */
export function cancelledError(started: boolean): Error {
  return Object.assign(new Error(cancelledMessage(started)), { name: CANCELLED });
}

function cancelledMessage(started: boolean): string {
  return `The job was cancelled before ${started ? 'its next attempt' : 'it started'}.`;
}

/** Returns the error of a job that must not run. */
export function refusalError(refusal: Refusal | UnhandledRefusal): StoredError {
  if (refusal.reason === 'unhandled') {
    const { name, describe } = REASONS.unhandled;
    return { name, message: cutMessage(describe(refusal)) };
  }
  const { name, describe } = REASONS[refusal.reason];
  return { name, message: cutMessage(describe(refusal) + lastErrorIn(refusal)) };
}

function lastErrorIn({ lastError }: Refusal): string {
  if (!lastError) {
    return '';
  }
  return codecOf(lastError) === undefined
    ? ` Its last error: ${lastError}`
    : ' Its attempt log has its last error.';
}

function expired({ attempts, started }: Refusal): string {
  if (!started) {
    return 'The job was not started within its expiresInMs.';
  }
  return attempts === 0
    ? 'The job expired after it was released, before its next attempt.'
    : `The job expired after ${count(attempts)}, before the next one.`;
}

/** Returns the reason of its dead letter. @param unmet the other job; undefined if it is unknown */
function unmetMessage(unmet: UnmetJob | undefined): string {
  const { job = { queue: '', id: '' }, status } = unmet ?? {};
  const how = status === 'removed' ? 'was deleted' : status === 'cancelled' ? 'was cancelled' : 'failed';
  const place = job.queue === '' ? '' : ` of the queue ${show(job.queue)}`;
  return `Job ${job.id}${place}, after which this job was to start, ${how}. Redrive this job to run it without waiting.`;
}

const UNMET_TEXT = /^Job ([^\n]+?)(?: of the queue ("[^"]+"))?, (after which this job was to start, .*)$/s;

/** Returns the job that such a reason names, and the rest of the text; undefined for another text. Scripts write it too. */
export function unmetIn(home: string, message: string): { job: JobReference; rest: string } | undefined {
  const [, id, queue, rest] = UNMET_TEXT.exec(message) ?? [];
  return id === undefined
    ? undefined
    : { job: { queue: queue === undefined ? home : queue.slice(1, -1), id }, rest: rest! };
}

function unhandledMessage({ name, waitedMs, times, workers, known }: UnhandledRefusal): string {
  const names = known.map(show);
  const announced = names.length === 0 ? 'none of them announced a name' : `they announced ${names.join(', ')}`;
  return (
    `No live worker handles the name ${show(name)}: the job waited for one for ${Math.round(waitedMs / 60_000)} ` +
    `minutes, and was released ${times} times. Live workers of this queue: ${workers}; ${announced}. ` +
    'Deploy a handler for the name, then redrive the job.'
  );
}

function count(attempts: number): string {
  return `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
}
