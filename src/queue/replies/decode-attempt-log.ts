import { jsonLines } from '../codec/parse-json.js';
import { decodeKnownDate } from './decode-date.js';
import type { AttemptRecord } from '../model/job.js';

interface StoredAttempt extends Omit<AttemptRecord, 'startedAt' | 'endedAt'> {
  startedAt: number;
  endedAt: number;
}

/** Returns the attempts of a job's hash: the logged incomplete ones, then the completed one. */
export function decodeAttemptLog(hash: Readonly<Record<string, string>>): AttemptRecord[] {
  const logged = jsonLines<StoredAttempt>(hash.attempt_log).map(decodeAttempt);
  const last = completedAttempt(hash);
  return last ? [...logged, last] : logged;
}

function decodeAttempt(entry: StoredAttempt): AttemptRecord {
  return { ...entry, startedAt: decodeKnownDate(entry.startedAt), endedAt: decodeKnownDate(entry.endedAt) };
}

/** Returns the completed attempt from the hash. No script logs it, so a plain job pays nothing. */
function completedAttempt(hash: Readonly<Record<string, string>>): AttemptRecord | undefined {
  const [attempt, startedAt, endedAt] = [hash.attempts, hash.claimed_at_ms, hash.completed_at_ms].map(Number);
  if (hash.status !== 'completed' || !attempt || !startedAt || !endedAt) {
    return undefined;
  }
  // A client of the Redis pattern leaves its token; the worker is then that of an earlier claim of ours.
  const worker = hash.claim_token ? null : (hash.worker ?? null);
  return {
    attempt,
    startedAt: decodeKnownDate(startedAt),
    endedAt: decodeKnownDate(endedAt),
    worker,
    outcome: 'completed',
    error: null,
  };
}
