import { z } from 'zod';
import { parseJson } from '../codec/stored-value.js';
import type { StoredError } from '../errors/stored-error.js';
import { JOB_OPTIONS, type JobOption } from '../model/job-options.js';
import type { ClaimedJob, ClaimedJobOptions, RefusedJob } from '../model/job.js';
import { arePlainOptions, readMetadata } from '../model/metadata.js';
import { startOf } from '../runtime/cut.js';
import type { ClaimReply, LeftJobs } from '../store/attempt-forms.js';
import { isRefusalReason, refusalError, type UnmetJob } from '../store/claim-refusal.js';
import { splitRef } from '../store/job-ref.js';
import { UnexpectedReply } from '../store/store-call.js';
import { listOf } from './check-reply.js';
import { kindOf } from './decode-job.js';

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

const NO_OPTIONS: ClaimedJobOptions = Object.freeze({});

/** The check of each option that the worker reads, by its field. */
const storedOptionFields: Record<string, z.ZodType> = Object.fromEntries(
  Object.values(JOB_OPTIONS).flatMap(({ worker }: JobOption) =>
    worker ? [[worker.field, worker.stored.optional()]] : [],
  ),
);

/** The stored options that a worker reads. An invalid one must stop its job, not the worker. */
const workerOptionsSchema = z.looseObject({
  ...storedOptionFields,
  batch: z.string().optional(),
  member: z.string().optional(),
  nameless: z.boolean().optional(),
  own: z.literal(true).optional(),
  payloadId: z.string().optional(),
  startedOverAtMs: z.number().optional(),
});

/** Returns undefined for options that no enqueue could have stored. */
function decodeWorkerOptions(text: string, plain: ClaimedJob['plain']): ClaimedJobOptions | undefined {
  const { value } = parseJson(text);
  if (plain === 'grouped') {
    return value as ClaimedJobOptions; // the script has checked the text
  }
  if (!plain) {
    const options: ClaimedJobOptions | undefined = workerOptionsSchema.safeParse(value).data;
    return options && withoutEmptyMetadata(options);
  }
  const { metadata: stored, own } = (value ?? {}) as ClaimedJobOptions;
  const metadata = readMetadata(stored);
  return metadata && withoutEmptyMetadata({ metadata, ...(own === true && { own }) });
}

/** Removes the metadata of a job that has an id of the caller's and no other option; see encodePlainOptions. */
function withoutEmptyMetadata({ metadata, ...others }: ClaimedJobOptions): ClaimedJobOptions {
  return metadata && Object.keys(metadata).length > 0 ? { metadata, ...others } : others;
}

/**
 * The reply of one claim: jobs to run, jobs to refuse, and when the next scheduled one is due.
 *
 * Like its jobs it is no literal, see {@link young}.
 */
class DecodedClaim implements ClaimReply {
  // No `[]`, see young.
  readonly jobs = Array.of<ClaimedJob>();
  readonly refused = Array.of<RefusedJob>();

  /** True if limits were met: a job that ends may free a slot that others wait for. */
  isLimited = false;

  /** True where jobs wait for a slot of the queue or of their group. */
  awaitsSlots = false;

  /** The jobs that the claim left to others; absent if it claimed any job. */
  left?: LeftJobs;

  /** True if the claim found too little, and no wake reaches its worker. */
  isUnheard?: true;

  /** True if a producer of the Redis pattern made one of the jobs. */
  isForeign?: true;

  /** What the first job costs that did not fit; see ClaimReply. */
  short?: readonly number[];

  /**
   * @param nextDueInMs ms until the next scheduled job is due; undefined if none is, or the claim did not look
   * @param isFull true where the bytes of the claim were reached and more jobs wait
   * @param isUnannounced true where the limits of the claiming worker are unknown
   */
  constructor(
    readonly nextDueInMs: number | undefined,
    readonly isFull: boolean,
    readonly isUnannounced: boolean,
  ) {}
}

const CLAIM_FIELDS = 5;

/** The details in the reply of a job with options or with earlier attempts. */
type ClaimDetails = [
  attempts: number | string,
  options: string | null,
  verdict: string,
  unstarted: unknown,
  fence?: number | string | null,
  checkpoint?: string,
];
const FIRST_ATTEMPT: ClaimDetails = [1, null, '', null];

/** Returns the details in the reply of one job. A text is its only option: metadata, or a group. */
function claimDetailsOf(entry: ClaimDetails | string | null): ClaimDetails {
  return typeof entry === 'string' ? [1, entry, '', null] : (entry ?? FIRST_ATTEMPT);
}

/** Decodes the reply of `lua/attempt/claim.lua`. */
export function decodeClaim(
  reply: unknown,
  queue: string,
  token: string,
  maxAttemptsOf: (name: string) => number,
): ClaimReply {
  const values = listOf(reply) as (string | number | ClaimDetails | null)[];
  const claimedAtMs = Number(values[0]);
  if (!(claimedAtMs > 0) || values.length < 3 || (values.length - 3) % CLAIM_FIELDS > 2) {
    throw new UnexpectedReply('the reply of a claim', reply);
  }
  const wait = values[1] ?? 'none';
  const dueInMs = Number(wait);
  const decoded = new DecodedClaim(
    Number.isNaN(dueInMs) ? undefined : dueInMs,
    wait === 'full',
    wait === 'unannounced',
  );
  if (typeof wait === 'string' && wait.startsWith('[')) {
    decoded.short = JSON.parse(wait) as number[];
  }
  let nameBefore = '';
  // Jobs of one enqueue have the same. Parsing it takes longer than comparing it.
  let enqueuedAt: unknown;
  let enqueuedAtMs = 0;
  const behind = (values.length - 3) % CLAIM_FIELDS;
  const limitedBy = values[values.length - behind];
  decoded.isLimited = behind > 0 && limitedBy !== null && limitedBy !== 'grouped';
  decoded.awaitsSlots = decoded.isLimited && limitedBy === 'awaits-slots';
  if (behind === 2) {
    decoded.isUnheard = true;
  }
  for (let i = 3, fence = Number(values[2]); i + CLAIM_FIELDS <= values.length; i += CLAIM_FIELDS, fence++) {
    const id = values[i] as string;
    const storedName = (values[i + 1] as string | null) ?? nameBefore;
    const payload = parseJson((values[i + 2] as string | null) ?? undefined);
    if (values[i + 3] !== enqueuedAt) {
      enqueuedAt = values[i + 3];
      enqueuedAtMs = Number(enqueuedAt ?? 0);
    }
    const entry = values[i + 4] as ClaimDetails | string | null;
    const details = claimDetailsOf(entry);
    const attempt = Number(details[0]);
    const [, storedOptions, verdict, unstarted] = details;
    const isGrouped = unstarted === 'grouped' || (typeof entry === 'string' && !arePlainOptions(entry));
    const mark = isGrouped ? 'grouped' : !storedOptions || arePlainOptions(storedOptions);
    const workerOptions = storedOptions ? decodeWorkerOptions(storedOptions, mark) : NO_OPTIONS;
    const plain = workerOptions?.own ? mark === true && 'own' : mark;
    const name = storedName || (kindOf(payload.value) ?? queue);
    const job: ClaimedJob = young({
      id,
      name,
      queue,
      payload: payload.value,
      attempt,
      maxAttempts: workerOptions?.maxAttempts ?? maxAttemptsOf(name),
      fence: Number(details[4] ?? fence),
      token,
      enqueuedAtMs,
      claimedAtMs,
      options: workerOptions ?? NO_OPTIONS,
      plain: attempt === 1 && verdict === '' && plain,
      nameless: storedName === '' || workerOptions?.nameless === true,
      isolated: verdict === 'isolated',
      prefetched: unstarted !== null && verdict !== 'isolated',
      expires: verdict === 'expires',
      checkpoint: details[5] === undefined ? undefined : parseJson(details[5]).value,
    });
    if (job.nameless) {
      decoded.isForeign = true;
    }
    const refusal = verdict ? decodeRefusal(verdict) : undefined;
    const error = refusal ?? brokenness(payload, workerOptions, storedOptions);
    if (error) {
      decoded.refused.push({ id, token, fence: job.fence, error, job });
    } else {
      decoded.jobs.push(job);
    }
    nameBefore = storedName;
  }
  return decoded;
}

/** Decodes the reply of a claim that takes certain names only. */
export function decodeNamedClaim(...[reply, ...rest]: Parameters<typeof decodeClaim>): ClaimReply {
  const [claimed, cursor, elsewhere, ...unserved] = listOf(reply) as [unknown, number, number, ...string[]];
  const decoded = decodeClaim(claimed, ...rest);
  decoded.left = { cursor: Number(cursor), elsewhere: Number(elsewhere) === 1, unserved };
  return decoded;
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
      ? `The options are not those of a job: ${startOf(String(stored), 200)}`
      : "The payload is not JSON; brokenPayload of the job's record has its text."; // no log shows a payload
  return { name: 'BrokenJob', message };
}
