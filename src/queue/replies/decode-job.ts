import { jsonLines, parseJson } from '../codec/parse-json.js';
import type { ClaimedJobOptions, JobRecord, JobStatus } from '../model/job.js';
import { readMetadata } from '../model/metadata.js';
import { redrivenField } from '../store/job-ref.js';
import { UnexpectedReply } from '../store/unexpected-reply.js';
import { listOf, textOf } from './check-reply.js';
import { decodeAttemptLog } from './decode-attempt-log.js';
import { decodeDate, decodeKnownDate } from './decode-date.js';
import { decodeSteps } from './decode-steps.js';
import { decodeTies } from './decode-ties.js';

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
    log: jsonLines<StoredLogLine>(hash.log).map(({ at, message }) => ({ at: decodeKnownDate(at), message })),
  };
  if (hash.rate_limited !== undefined) {
    record.rateLimited = Number(hash.rate_limited);
  }
  if (payload.broken !== undefined) {
    record.brokenPayload = payload.broken;
  }
  if (hash.result !== undefined) {
    record.result = parseJson(hash.result).value;
  }
  if (hash.progress !== undefined) {
    record.progress = parseJson(hash.progress).value;
  }
  if (hash.checkpoint !== undefined) {
    record.checkpoint = parseJson(hash.checkpoint).value;
  }
  if (hash.steps !== undefined) {
    record.steps = decodeSteps(hash.steps).map(({ result: _result, ...step }) => step);
  }
  return Object.assign(record, {
    ...numberField('maxAttempts', hash.max_attempts),
    ...numberField('fence', hash.fence),
    ...dateField('dueAt', hash.due_at_ms),
    ...dateField('claimedAt', hash.claimed_at_ms),
    ...dateField('completedAt', hash.completed_at_ms),
    ...dateField('failedAt', hash.failed_at_ms),
    ...dateField('cancelledAt', hash.cancelled_at_ms),
    ...dateField('cancelRequestedAt', hash.cancel_requested_at_ms),
    ...dateField('expiresAt', hash.expires_at_ms),
    ...dateField('lastErrorAt', hash.last_error_at_ms),
    ...metadataField(hash.options),
    ...leftOutField(hash),
    ...decodeTies(queue, hash),
    ...(hash.worker !== undefined && { worker: hash.worker }),
    ...(isUnstarted(hash) && { unstarted: true as const, ...(isIsolated(hash) && { isolated: true as const }) }),
    ...(hash.group !== undefined && { group: hash.group }),
    ...(hash.schedule !== undefined && { schedule: hash.schedule }),
    ...(hash.last_error !== undefined && { lastError: hash.last_error }),
    ...redrivenField(hash.redriven_from, hash.redriven_as),
    ...(hash.error_kind !== undefined && { errorKind: hash.error_kind }),
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

interface StoredLogLine {
  at: number;
  message: string;
}

function metadataField(options: string | undefined): Partial<JobRecord> {
  const metadata = readMetadata((parseJson(options).value as ClaimedJobOptions | null | undefined)?.metadata);
  return metadata ? { metadata } : {};
}

/** Returns a field that lua/lib/core/short_hash left out. */
function leftOutField(hash: Readonly<Record<string, string>>): Partial<JobRecord> {
  const fields = Object.entries(hash).filter(([field]) => field.startsWith('left_out:'));
  const leftOut = Object.fromEntries(
    fields.map(([field, length]) => [field.slice('left_out:'.length), Number(length)]),
  );
  return fields.length > 0 ? { leftOut } : {};
}

function numberField(name: keyof JobRecord, text: string | undefined): Partial<JobRecord> {
  return text === undefined ? {} : { [name]: Number(text) };
}

/** Returns a time field; the pattern writes 0 for "not now". */
function dateField(name: keyof JobRecord, text: string | undefined): Partial<JobRecord> {
  const at = text === undefined || Number(text) === 0 ? undefined : decodeDate(text);
  return at ? { [name]: at } : {};
}
