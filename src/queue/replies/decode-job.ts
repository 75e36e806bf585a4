import { jsonLines, parseJson } from '../codec/stored-value.js';
import { decodeStoredError } from '../errors/stored-error.js';
import type { AttemptRecord, ClaimedJobOptions, JobRecord, JobStatus } from '../model/job.js';
import { readMetadata } from '../model/metadata.js';
import { limitCostsField } from '../model/shared-limit.js';
import type { JobSignal, JobWait, WaitReply, WaitState } from '../model/signal.js';
import type { StoredStep } from '../model/step.js';
import { withoutUndefined } from '../runtime/collections.js';
import { redrivenField, refsOf, splitRef } from '../store/job-ref.js';
import { UnexpectedReply } from '../store/store-call.js';
import { decodeKnownDate, listOf, textOf, wholeNumberOf, decodeDate } from './check-reply.js';

/** Each step is a line: its name, time in ms, attempt and result. */
const STEPS = /^(?:[^\t\n]+\t\d+\t\d+\t[^\n]*\n)*$/;

/** Decodes the reply of a claim that reads its steps. @throws UnexpectedReply for the reply of another call */
export function decodeStepsReply(reply: unknown): StoredStep[] {
  if (typeof reply !== 'string' || !STEPS.test(reply)) {
    throw new UnexpectedReply('recorded steps', reply);
  }
  return decodeSteps(reply);
}

/** Decodes the steps of a job's hash, see `lua/attempt/step.lua`. */
function decodeSteps(text: string): StoredStep[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [name = '', at, attempt, result = ''] = line.split('\t');
      return { name, at: decodeKnownDate(Number(at)), attempt: Number(attempt), result };
    });
}

/** Decodes the reply of `lua/attempt/wait.lua`. */
export function decodeWaitReply(reply: unknown): WaitReply {
  const [is, detail] = listOf(reply);
  switch (is) {
    case 'lost':
    case 'waits':
    case 'over':
      return { is };
    case 'answered':
      return { is, data: textOf(detail) };
    case 'open':
      return { is, leftMs: detail === '' ? undefined : wholeNumberOf(detail) };
    default:
      throw new UnexpectedReply('lost, waits, over, answered or open', is);
  }
}

/** Decodes the waits of a job's hash. */
export function decodeWaits(text: string): JobWait[] {
  return linesOf(text).map(([name = '', kind, since, until, state = '']) => ({
    name,
    kind: kind === 'sleep' ? kind : 'signal',
    since: decodeKnownDate(since),
    ...(until && { until: decodeKnownDate(until) }),
    state: stateOf(state),
  }));
}

/** Returns the state of a wait. The scripts take any other text as an end without a signal. */
function stateOf(stored: string): WaitState {
  return stored === '' ? 'open' : stored === 'answered' ? stored : 'over';
}

/** Decodes the signals of a job's hash, without their data. */
function decodeSignals(text: string): JobSignal[] {
  return linesOf(text).map(([name = '', at]) => ({ name, at: decodeKnownDate(at) }));
}

function linesOf(text: string): string[][] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));
}

/** Returns the `kind` of a payload. Producers of the Redis pattern store no name, and their demo has it there. */
export function kindOf(payload: unknown): string | undefined {
  const kind = (payload as { kind?: unknown } | null)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}

/** Decodes a page of jobs: for each its id, then its hash. */
export function decodeJobs(queue: string, page: readonly unknown[]): JobRecord[] {
  if (page.length % 2 === 1) {
    throw new UnexpectedReply('a page of jobs', page);
  }
  const records: JobRecord[] = [];
  for (let i = 0; i < page.length; i += 2) {
    records.push(decodeJob(queue, textOf(page[i]), page[i + 1]));
  }
  return records;
}

/** Decodes a job's hash, given as the flat list of HGETALL in a script. Its id is not in the hash. */
export function decodeJob(queue: string, id: string, reply: unknown): JobRecord {
  const flat = listOf(reply) as string[];
  const hash: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let i = 0; i + 1 < flat.length; i += 2) {
    hash[flat[i]!] = flat[i + 1]!;
  }
  return decodeJobHash(queue, id, hash);
}

/** Decodes a job's hash. Invalid fields of a foreign client do not break it. */
export function decodeJobHash(queue: string, id: string, hash: Readonly<Record<string, string>>): JobRecord {
  const payload = parseJson(hash.payload);
  const options = parseJson(hash.options).value as Partial<ClaimedJobOptions> | null | undefined;
  const record: JobRecord = {
    id,
    name: hash.name ?? kindOf(payload.value) ?? queue,
    queue,
    status: (hash.status ?? 'pending') as JobStatus,
    payload: payload.value,
    attempts: Number(hash.attempts ?? 0),
    errors: Number(hash.errors ?? 0),
    crashes: Number(hash.crashes ?? 0),
    interruptions: Number(hash.interruptions ?? 0),
    unhandled: Number(hash.unhandled ?? 0),
    priority: Number(hash.priority ?? 0),
    enqueuedAt: decodeKnownDate(hash.enqueued_at_ms ?? 0),
    attemptLog: decodeAttemptLog(hash),
    log: jsonLines<StoredLogLine>(hash.log).map(({ at, message }) => ({
      at: decodeKnownDate(at),
      message: typeof message === 'string' ? message : (JSON.stringify(message) ?? ''),
    })),
  };
  const optional = withoutUndefined<Partial<JobRecord>>({
    rateLimited: numberOf(hash.rate_limited),
    brokenPayload: payload.broken,
    result: parseJson(hash.result).value,
    progress: parseJson(hash.progress).value,
    checkpoint: parseJson(hash.checkpoint).value,
    steps:
      hash.steps === undefined ? undefined : decodeSteps(hash.steps).map(({ result: _result, ...step }) => step),
    waits: hash.waits === undefined ? undefined : decodeWaits(hash.waits),
    signals: hash.signals === undefined ? undefined : decodeSignals(hash.signals),
    maxAttempts: numberOf(hash.max_attempts),
    fence: numberOf(hash.fence),
    dueAt: dateOf(hash.due_at_ms),
    claimedAt: dateOf(hash.claimed_at_ms),
    completedAt: dateOf(hash.completed_at_ms),
    failedAt: dateOf(hash.failed_at_ms),
    cancelledAt: dateOf(hash.cancelled_at_ms),
    cancelRequestedAt: dateOf(hash.cancel_requested_at_ms),
    expiresAt: dateOf(hash.expires_at_ms),
    lastErrorAt: dateOf(hash.last_error_at_ms),
    startedOverAt: options?.startedOverAtMs === undefined ? undefined : decodeDate(options.startedOverAtMs),
    metadata: metadataOf(options?.metadata),
    slots: typeof options?.slots === 'number' ? options.slots : undefined,
    limitCosts: options?.limitCosts ? limitCostsField.safeParse(options.limitCosts).data : undefined,
    leftOut: leftOutOf(hash),
    worker: hash.worker,
    group: hash.group,
    schedule: hash.schedule,
    lastError: hash.last_error,
    errorKind: hash.error_kind,
    supersededBy: hash.superseded_by,
    movedTo: movedTo(hash),
  });
  return Object.assign(record, optional, {
    ...decodeTies(queue, hash),
    ...streamOf(hash.stream),
    ...(isUnstarted(hash) && { unstarted: true as const, ...(isIsolated(hash) && { isolated: true as const }) }),
    ...redrivenField(hash.redriven_from, hash.redriven_as),
  });
}

/** Returns whether the job is unstarted. A job that started uncharged has another mark. */
function isUnstarted(hash: Readonly<Record<string, string>>): boolean {
  return hash.status === 'processing' && hash[unstartedField(hash.fence)] === '1';
}

/** Returns the field that marks a job as unstarted. Each claim has its own, so that a late call changes no other claim. */
function unstartedField(fence: string | undefined): string {
  return `unstarted:${fence ?? ''}`;
}

/** Returns whether another crash would bury the job, by the rule of `lua/lib/settle/claim_check.lua`. */
function isIsolated(hash: Readonly<Record<string, string>>): boolean {
  const { crashes, next_crash_is_last: nextCrashIsLast, attempts, max_attempts: maxAttempts = Infinity } = hash;
  return crashes !== undefined && (nextCrashIsLast !== undefined || Number(attempts) >= Number(maxAttempts));
}

/** Decodes the field `stream`, see lua/lib/stream/state.lua. */
function streamOf(field: string | undefined): Pick<JobRecord, 'stream'> {
  const [, entries, bytes] = /^\d+ \d+ (\d+)-\d+ (\d+) \d+$/.exec(field ?? '') ?? [];
  return entries === undefined ? {} : { stream: { entries: Number(entries), bytes: Number(bytes) } };
}

interface StoredLogLine {
  at: number;
  message: unknown; // another program may have written it
}

function metadataOf(stored: unknown): JobRecord['metadata'] {
  const metadata = readMetadata(stored);
  return metadata && Object.keys(metadata).length > 0 ? metadata : undefined;
}

/** Returns the lengths of the fields that lua/lib/core/short_hash left out. */
function leftOutOf(hash: Readonly<Record<string, string>>): JobRecord['leftOut'] {
  const fields = Object.entries(hash).filter(([field]) => field.startsWith('left_out:'));
  const lengths = fields.map(([field, length]) => [field.slice('left_out:'.length), Number(length)]);
  return fields.length > 0 ? (Object.fromEntries(lengths) as JobRecord['leftOut']) : undefined;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** Returns a time; the pattern writes 0 for "not now". */
function dateOf(text: string | undefined): Date | undefined {
  return text === undefined || Number(text) === 0 ? undefined : decodeDate(text);
}

/** Decodes a job's relations: its batch, the jobs that it waits for, and the jobs that wait for it. */
function decodeTies(
  queue: string,
  hash: Readonly<Record<string, string>>,
): Pick<JobRecord, 'batch' | 'after' | 'followedBy'> {
  const batch = hash.batch === undefined ? undefined : batchOf(queue, hash.batch);
  return {
    ...(batch && { batch }),
    ...tiesIn('after', queue, hash.after),
    ...tiesIn('followedBy', queue, hash.dependents),
  };
}

function tiesIn(field: 'after' | 'followedBy', queue: string, list: string | undefined): Partial<JobRecord> {
  const refs = list === undefined ? [] : refsOf(queue, list);
  return refs.length > 0 ? { [field]: refs } : {};
}

/** Decodes the field `batch`, see lua/lib/batch/end_member. */
function batchOf(home: string, field: string): JobRecord['batch'] {
  const { queue, id } = splitRef(home, field);
  return queue === '' ? { queue: home, id, role: 'follow-up' } : { queue, id, role: 'member' };
}

interface StoredAttempt extends Omit<AttemptRecord, 'startedAt' | 'endedAt' | 'error'> {
  startedAt: number;
  endedAt: number;
  /** That of a crash says when its process died, see lua/lib/settle/crash.lua. */
  error: { diedAt?: unknown } | null;
}

/** Returns the attempts of a job's hash: the logged incomplete ones, then the completed one. */
function decodeAttemptLog(hash: Readonly<Record<string, string>>): AttemptRecord[] {
  const logged = jsonLines<StoredAttempt>(hash.attempt_log).map(decodeAttempt);
  const last = completedAttempt(hash);
  return last ? [...logged, last] : logged;
}

/** Decodes an attempt. Another program may have written any JSON. */
function decodeAttempt({ startedAt, endedAt, worker, error, ...entry }: StoredAttempt): AttemptRecord {
  const diedAt = typeof error?.diedAt === 'number' ? decodeKnownDate(error.diedAt) : undefined;
  return {
    ...entry,
    ...(diedAt && { diedAt }),
    startedAt: decodeKnownDate(startedAt),
    endedAt: decodeKnownDate(endedAt),
    worker: typeof worker === 'string' ? worker : null,
    outcome: String(entry.outcome) as AttemptRecord['outcome'],
    error: error ? decodeStoredError(error) : null,
  };
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

/** Returns the new place of a job that moved away, from the record that `lua/migrate/queue/take.lua` leaves. */
function movedTo({ status, moved, last_error: lastError = '' }: Readonly<Record<string, string | undefined>>) {
  return status === 'cancelled' && moved
    ? (/^The job moved to (.*)\.$/s.exec(lastError)?.[1] ?? 'another place')
    : undefined;
}
