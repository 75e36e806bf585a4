import type { StoredError } from '../errors/stored-error.js';
import { isRefusalReason, refusalError, type UnmetJob } from '../store/claim-refusal.js';
import { splitRef } from '../store/job-ref.js';

/** The verdict on a job that must not run; see `lua/lib/settle/refusal.lua`. */
interface Verdict {
  attempts: string;
  max_attempts: string;
  started: boolean;
  last_error?: string;
  /** The other job, a blank, and its end. */
  unmet?: string;
  /** Of the payload; of another part a blank and its start follow. */
  bytes?: string;
  part?: 'id' | 'name' | 'group' | 'options';
}

/** The verdict on a job without a worker of its name; see `lua/lib/place/unserved.lua`. */
interface UnhandledVerdict {
  name: string;
  waited_ms: string;
  times: string;
  workers: number;
  /** An empty object for none. */
  known: readonly string[] | Record<string, never>;
}

/** Returns the error of a job that must not run, from the verdict on it; undefined if it may. */
export function decodeRefusal(verdict: string): StoredError | undefined {
  const space = verdict.indexOf(' ');
  const reason = verdict.slice(0, Math.max(0, space));
  if (!isRefusalReason(reason)) {
    return undefined;
  }
  const details = JSON.parse(verdict.slice(space)) as Verdict | UnhandledVerdict;
  if (reason === 'unhandled') {
    const { name, waited_ms: waitedMs, times, workers, known } = details as UnhandledVerdict;
    const names = Object.values(known);
    return refusalError({ reason, name, waitedMs: Number(waitedMs), times: Number(times), workers, known: names });
  }
  const {
    attempts,
    max_attempts: maxAttempts,
    started,
    last_error: lastError,
    unmet,
    bytes = '',
    part,
  } = details as Verdict;
  const [size, ...start] = bytes.split(' ');
  return refusalError({
    reason,
    attempts: Number(attempts),
    maxAttempts: Number(maxAttempts),
    started,
    lastError,
    unmet: unmetOf(unmet),
    bytes: Number(size),
    ...(part && { part, start: start.join(' ') }),
  });
}

function unmetOf(text = ''): UnmetJob {
  const [, ref = '', status] = /^(.+) ([a-z]+)$/s.exec(text) ?? [];
  return { job: splitRef('', ref), status };
}
