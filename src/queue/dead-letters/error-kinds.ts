import { REDACTED } from '../codec/redact.js';
import { errorWords, JOINED, type RootCause, rootCauseOf } from '../errors/error-kind.js';
import { CRASHED, type JobRecord } from '../model/job.js';
import type { KindCount } from '../store/job-queries.js';

const HOUR_MS = 3_600_000;
/** The largest payload of a job that is read as the sample of its kind, in bytes. */
const LARGEST_SAMPLE = 1_048_576;
/** The newest dead letters that are searched for the sample of a kind whose last job has left. */
const SEARCHED = 100;

/** What people said of a kind of error. */
export interface KindMark {
  /** True if it is known. No alert tells a known kind until it comes again. */
  known: boolean;
  /** No alert tells the kind until then. Absent if it is not quiet. */
  quietUntil?: Date;
  /** A note for other people. */
  note?: string;
  /** Who said so. */
  by?: string;
  /** When. */
  at: Date;
  /** True if the kind is known, had no dead letter left since then, and jobs died of it after that. */
  comesAgain: boolean;
}

/** A kind of error among the dead letters of a queue. It is counted when each job dies. */
export interface ErrorKind {
  /** The fingerprint of its errors, for the filter `kind`. An end that no handler caused has @ and a word. */
  kind: string;
  /** The dead letters of this kind. */
  count: number;
  /** About how many died in the last hour. */
  lastHour: number;
  /** The time of the first death since the kind had no dead letter. */
  firstAt: Date;
  /** The time of the last death. */
  lastAt: Date;
  /** True if the first death was in the last hour. */
  isNew: boolean;
  /** Words for the kind: the last error of a recent job of it. Undefined if none was found. */
  error?: string;
  /** What people said of it, by `markKind`. Absent for nothing. */
  mark?: KindMark;
  /** A recent dead letter of this kind. Absent if none was found, or its payload is over 1 MiB. */
  sample?: JobRecord;
}

/** The words of ends that no handler caused. */
const WORDS: Readonly<Record<string, string>> = {
  [CRASHED]: 'Its worker died while it ran',
  '@doctor': 'The doctor found no place for it',
  '@foreign': 'A client of the Redis pattern failed it',
  '@gone': 'Its hash is missing',
  '@other': 'More kinds of errors than are counted apart',
  '@oversized': 'Its id, or another part of it, is longer than an enqueue allows',
  '@rate_limited': 'It met rate limits too often',
  '@snooze': 'It snoozed too often',
  '@unmet': 'A job that it waited for did not complete',
};

/** Returns the words for the last error of a job: undefined if none is stored. */
export function lastErrorWords({
  lastError,
  attemptLog,
  errorKind,
}: Pick<JobRecord, 'lastError' | 'attemptLog' | 'errorKind'>): string | undefined {
  const error = attemptLog.findLast((attempt) => attempt.error !== null)?.error;
  const words = error && error.message === lastError ? errorWords(error) : lastError;
  return words !== undefined && errorKind?.startsWith(JOINED)
    ? `many kinds from one place, such as: ${words}`
    : words;
}

/** The text of an error that this process cannot read, because it is encrypted or hidden. */
const UNREADABLE = /^\$codec:/;

/** Returns the root cause of the last error of a job. Undefined if none is stored, or its text cannot be read. */
export function lastCause({
  lastError,
  attemptLog,
}: Pick<JobRecord, 'lastError' | 'attemptLog'>): RootCause | undefined {
  if (lastError === undefined || lastError === REDACTED || UNREADABLE.test(lastError)) {
    return undefined;
  }
  const error = attemptLog.findLast((attempt) => attempt.error !== null)?.error;
  return rootCauseOf(error?.message === lastError ? error : { name: 'Error', message: lastError });
}

/** The reads of the queue that the samples need. */
interface SampledQueue {
  get(id: string): Promise<JobRecord | null>;
  list(options: { limit: number; mostBytes: number }): Promise<{ jobs: JobRecord[] }>;
}

/** Reads the jobs that show what each kind is, and returns the kinds, the most frequent first. */
export async function withSamples(
  queue: SampledQueue,
  { nowMs, kinds }: { nowMs: number; kinds: readonly KindCount[] },
): Promise<ErrorKind[]> {
  const read = await Promise.all(
    kinds.map(async ({ kind, sample }) => {
      const isSmall = sample && sample.payloadBytes <= LARGEST_SAMPLE;
      return isSmall && !Object.hasOwn(WORDS, kind) ? queue.get(sample.id) : null;
    }),
  );
  const samples = new Map(read.flatMap((job) => (job?.errorKind ? [[job.errorKind, job] as const] : [])));
  if (kinds.some(({ kind, sample }) => !sample && !Object.hasOwn(WORDS, kind))) {
    const { jobs } = await queue.list({ limit: SEARCHED, mostBytes: LARGEST_SAMPLE });
    for (const job of jobs) {
      const { errorKind: kind } = job;
      if (kind && !samples.has(kind) && !Object.hasOwn(WORDS, kind)) {
        samples.set(kind, job);
      }
    }
  }
  return kinds
    .map(({ kind, count, lastHour, firstAtMs, lastAtMs, mark }): ErrorKind => {
      const sample = samples.get(kind);
      const error = Object.hasOwn(WORDS, kind) ? WORDS[kind] : sample && lastErrorWords(sample);
      return {
        kind,
        count,
        lastHour,
        firstAt: new Date(firstAtMs),
        lastAt: new Date(lastAtMs),
        isNew: nowMs - firstAtMs < HOUR_MS,
        ...(error !== undefined && { error }),
        ...(mark && { mark: kindMark(mark, firstAtMs) }),
        ...(sample && { sample }),
      };
    })
    .toSorted((a, b) => b.count - a.count || b.lastAt.getTime() - a.lastAt.getTime());
}

function kindMark(
  { atMs, known = false, quietUntilMs, note, by }: NonNullable<KindCount['mark']>,
  firstAtMs: number,
): KindMark {
  return {
    known,
    ...(quietUntilMs !== undefined && { quietUntil: new Date(quietUntilMs) }),
    ...(note !== undefined && { note }),
    ...(by !== undefined && { by }),
    at: new Date(atMs),
    comesAgain: known && firstAtMs > atMs,
  };
}
