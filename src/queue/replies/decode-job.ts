import { z } from 'zod';
import { decodeAttempts } from './decode-attempt-log.js';
import { decodeDate, decodeKnownDate } from './decode-date.js';
import { storedBackoffSchema } from '../model/backoff.js';
import type { ClaimAnswer, LeftJobs } from '../store/store-calls.js';
import { jsonLines, parseJson } from '../codec/parse-json.js';
import type { ClaimedJob, JobRecord, JobStatus, RefusedJob, ClaimedJobOptions } from '../model/job.js';
import type { StoredError } from '../errors/stored-error.js';
import { LONGEST_TIMER_MS } from '../runtime/bounds.js';
import { decodeTies } from './decode-ties.js';
import { arePlainOptions, readMetadata } from '../model/metadata.js';
import { refusalOf } from '../store/claim-refusal.js';

const NO_OPTIONS: ClaimedJobOptions = Object.freeze({});

/** The stored options that a worker reads. An invalid one must stop its job, not the worker. */
const workerOptionsSchema = z.looseObject({
  maxAttempts: z.number().optional(),
  backoff: storedBackoffSchema.optional(),
  timeoutMs: z.number().min(1).max(LONGEST_TIMER_MS).optional(),
  keepResult: z.boolean().optional(),
  resultTtlMs: z.int().min(1).optional(),
  delayMs: z.number().optional(),
  runAtMs: z.number().optional(),
  metadata: z.unknown().transform(readMetadata).optional(),
  batch: z.string().optional(),
  guest: z.boolean().optional(),
  stopsBatch: z.boolean().optional(),
  group: z.string().optional(),
});

/** Returns undefined for options that no enqueue could have stored. */
function decodeWorkerOptions(text: string, plain: ClaimedJob['plain']): ClaimedJobOptions | undefined {
  const { value } = parseJson(text);
  if (plain === 'grouped') {
    return value as ClaimedJobOptions; // as the script compared it
  }
  if (!plain) {
    return workerOptionsSchema.safeParse(value).data;
  }
  const metadata = readMetadata((value as ClaimedJobOptions | null | undefined)?.metadata);
  return metadata && { metadata };
}

/**
 * The reply of one claim: jobs to run, jobs to refuse, and when the next scheduled one is due.
 *
 * Like its jobs it is no literal, see {@link young}.
 */
class DecodedClaim implements ClaimAnswer {
  // No `[]`, see young.
  readonly jobs = Array.of<ClaimedJob>();
  readonly refused = Array.of<RefusedJob>();

  /** True where the queue has limits: a job that ends then frees a slot that others wait for. */
  isLimited = false;

  /** True where jobs wait for a slot of the queue or of their group. */
  awaitsSlots = false;

  /** The jobs that the claim left to others; absent if it claimed any job. */
  left?: LeftJobs;

  /**
   * @param nextDueInMs ms until the next scheduled job is due; undefined when none is scheduled or the claim did not look
   * @param isFull true where the bytes of the claim were reached and more jobs wait
   */
  constructor(
    readonly nextDueInMs: number | undefined,
    readonly isFull: boolean,
  ) {}
}

const CLAIM_FIELDS = 5;

/** The next due time of a claim whose bytes were used up. */
const FULL = -2;

/** The end of a claim whose queue has limits, while jobs wait for a slot. */
const AWAITS_SLOTS = 2;

/** The rest of the reply for a job with options, or with earlier attempts. Else its options: metadata alone, or a group alone. */
type ClaimRest = [
  attempts: number | string,
  options: string | null,
  verdict: string,
  held: unknown,
  fence?: number | string | null,
  checkpoint?: string,
];
const FIRST_ATTEMPT: ClaimRest = [1, null, '', null];

function restOf(entry: ClaimRest | string | null): ClaimRest {
  return typeof entry === 'string' ? [1, entry, '', null] : (entry ?? FIRST_ATTEMPT);
}

/** Decodes the reply of `lua/attempt/claim.lua`. */
export function decodeClaim(
  reply: unknown,
  queue: string,
  token: string,
  maxAttemptsOf: (name: string) => number,
): ClaimAnswer {
  const values = reply as (string | number | ClaimRest | null)[];
  const claimedAtMs = Number(values[0]);
  const dueInMs = Number(values[1]);
  const answer = new DecodedClaim(dueInMs < 0 ? undefined : dueInMs, dueInMs === FULL);
  let nameBefore = '';
  answer.isLimited = (values.length - 3) % CLAIM_FIELDS === 1;
  answer.awaitsSlots = answer.isLimited && values[values.length - 1] === AWAITS_SLOTS;
  for (let i = 3, fence = Number(values[2]); i + CLAIM_FIELDS <= values.length; i += CLAIM_FIELDS, fence++) {
    const id = values[i] as string;
    const storedName = (values[i + 1] as string | null) ?? nameBefore;
    const payload = parseJson((values[i + 2] as string | null) ?? undefined);
    const entry = values[i + 4] as ClaimRest | string | null;
    const rest = restOf(entry);
    const attempt = Number(rest[0]);
    const [, storedOptions, verdict, held] = rest;
    const isGrouped = typeof entry === 'string' && !arePlainOptions(entry);
    const plain = isGrouped ? 'grouped' : !storedOptions || arePlainOptions(storedOptions);
    const workerOptions = storedOptions ? decodeWorkerOptions(storedOptions, plain) : NO_OPTIONS;
    const name = storedName || (kindOf(payload.value) ?? queue);
    const job: ClaimedJob = young({
      id,
      name,
      queue,
      payload: payload.value,
      attempt,
      maxAttempts: workerOptions?.maxAttempts ?? maxAttemptsOf(name),
      fence: Number(rest[4] ?? fence),
      token,
      enqueuedAtMs: Number(values[i + 3] ?? 0),
      claimedAtMs,
      options: workerOptions ?? NO_OPTIONS,
      plain: attempt === 1 && verdict === '' && plain,
      nameless: storedName === '',
      isolated: verdict === 'isolated',
      prefetched: held !== null && verdict !== 'isolated',
      expires: verdict === 'expires',
      checkpoint: rest[5] === undefined ? undefined : parseJson(rest[5]).value,
    });
    const refusal = verdict ? refusalOf(verdict) : undefined;
    const error = refusal ?? brokenness(payload, workerOptions, storedOptions);
    if (error) {
      answer.refused.push({ id, token, fence: job.fence, error, job });
    } else {
      answer.jobs.push(job);
    }
    nameBefore = storedName;
  }
  return answer;
}

/** Decodes the reply of a claim that takes certain names only. */
export function decodeNamedClaim(...[reply, ...rest]: Parameters<typeof decodeClaim>): ClaimAnswer {
  const [claimed, cursor, elsewhere, ...unserved] = reply as [unknown, number, number, ...string[]];
  const answer = decodeClaim(claimed, ...rest);
  answer.left = { cursor: Number(cursor), elsewhere: Number(elsewhere) === 1, unserved };
  return answer;
}

/**
 * Copies an object literal, so that it is allocated among young objects. V8 (of Node 20) decides for each literal where
 * to allocate. Once most of its objects have survived a scavenge, it allocates them among the old objects. There each
 * keeps its content until a full collection, and scavenges take twice as long. Copies, and objects of a class or an
 * array method, stay young. See docs/internals/performance.md, "Young objects".
 */
function young<Made extends object>(made: Made): Made {
  return { ...made };
}

/** Returns why a stored job cannot run, or undefined if it can. */
function brokenness(
  payload: { broken?: string },
  options: ClaimedJobOptions | undefined,
  stored: unknown,
): StoredError | undefined {
  if (payload.broken === undefined && options) {
    return undefined;
  }
  const message =
    payload.broken === undefined
      ? `The options are not those of a job: ${String(stored).slice(0, 200)}`
      : "The payload is not JSON; brokenPayload of the job's record has its text."; // no log shows a payload
  return { name: 'BrokenJob', message };
}

/** A producer that follows the Redis pattern stores no name; its demo puts it in the payload's `kind`. */
function kindOf(payload: unknown): string | undefined {
  const kind = (payload as { kind?: unknown } | null)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}

/** Decodes a page of jobs: for each its id, then its hash. */
export function decodeJobs(queue: string, page: readonly (string | readonly string[])[]): JobRecord[] {
  const records: JobRecord[] = [];
  for (let i = 0; i + 1 < page.length; i += 2) {
    records.push(decodeJob(queue, page[i] as string, page[i + 1] as readonly string[]));
  }
  return records;
}

/** Decodes a job's hash, given as the flat list of HGETALL in a script. Its id is not in the hash. */
export function decodeJob(queue: string, id: string, flat: readonly string[]): JobRecord {
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
    attemptLog: decodeAttempts(hash),
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
    ...(isUnstarted(hash) && { unstarted: true as const }),
    ...(hash.group !== undefined && { group: hash.group }),
    ...(hash.schedule !== undefined && { schedule: hash.schedule }),
    ...(hash.last_error !== undefined && { lastError: hash.last_error }),
  });
}

/** The field means nothing if an earlier claim wrote it. */
function isUnstarted({ status, fence, unstarted_fence: held }: Readonly<Record<string, string>>): boolean {
  return status === 'processing' && held !== undefined && held === fence;
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

/** A time field; the pattern writes 0 for "not now". */
function dateField(name: keyof JobRecord, text: string | undefined): Partial<JobRecord> {
  const at = text === undefined || Number(text) === 0 ? undefined : decodeDate(text);
  return at ? { [name]: at } : {};
}
