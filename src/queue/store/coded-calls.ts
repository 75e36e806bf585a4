// The calls of a queue with its codec: it encodes arguments and decodes replies.
import { codecOf, decodeContent, decodeText, encodeText, type CodecError, type JobCodec } from '../codec/codec.js';
import type { AttemptRecord, ClaimedJob, JobRecord, RefusedJob } from '../model/job.js';
import type { StoredError } from '../errors/stored-error.js';
import type { BatchMember } from '../model/batch.js';
import type { ScheduleRecord } from '../model/schedule.js';
import { FAILURE_PREFIX } from '../validation/names.js';
import type { StoreCall } from './store-call.js';
import type { ClaimReply, DeadLetterVerbs, StoreCalls } from './store-calls.js';
import type { BatchVerbs } from './verbs/batch-verbs.js';
import type { ScheduleVerbs } from './verbs/schedule-verbs.js';

/** The name of the error of a job that this process's codec cannot read. */
const UNREADABLE = 'CodecError';

/**
 * Returns the calls of a queue with its codec. Payloads, results and progress are encoded where they are checked, see
 * encodeContent.
 *
 * @param warnPlain called for a claimed job with an unencrypted payload, if the codec encrypts
 */
export function codedCalls(
  calls: StoreCalls,
  codec: JobCodec | undefined,
  warnPlain: (job: ClaimedJob) => void,
): StoreCalls {
  const own: Partial<StoreCalls> = {
    claim: (request) =>
      mapped(calls.claim(request), (reply) => {
        const plain = codec?.secret ? reply.jobs.find(isPlain) : undefined;
        if (plain) {
          warnPlain(plain);
        }
        return decodeClaim(codec, reply);
      }),
  };
  return over(calls, codec ? { ...own, ...codedVerbs(calls, codec) } : own);
}

/** Returns whether a job is plain. The server writes the payload of a failure job around the encoded content. */
function isPlain({ name, payload }: ClaimedJob): boolean {
  return codecOf(payload) === undefined && !name.startsWith(FAILURE_PREFIX);
}

function codedVerbs(calls: StoreCalls, codec: JobCodec): Partial<StoreCalls> {
  const record = (job: JobRecord) => decodeRecord(codec, job);
  const verbs: Partial<StoreCalls> = {
    get: (id) => mapped(calls.get(id), (job) => job && record(job)),
    list: (...args) => mapped(calls.list(...args), (jobs) => jobs.map(record)),
    find: (...args) => mapped(calls.find(...args), (slice) => ({ ...slice, jobs: slice.jobs.map(record) })),
    cancelAndReturn: (...args) =>
      mapped(calls.cancelAndReturn(...args), ({ outcome, cancelled }) =>
        cancelled ? { outcome, cancelled: record(cancelled) } : { outcome },
      ),
    deadLetters: over<DeadLetterVerbs>(calls.deadLetters, {
      list: (...args) =>
        mapped(calls.deadLetters.list(...args), (slice) => ({
          ...slice,
          found: slice.found.map((each) => (each.job ? { ...each, job: record(each.job) } : each)),
        })),
    }),
    batches: over<BatchVerbs>(calls.batches, {
      results: (...args) =>
        mapped(
          calls.batches.results(...args),
          (page) => page && { ...page, members: page.members.map((member) => decodeMember(codec, member)) },
        ),
    }),
    schedules: over<ScheduleVerbs>(calls.schedules, {
      get: (id) => mapped(calls.schedules.get(id), (all) => all.map((each) => decodeSchedule(codec, each))),
      list: (...args) =>
        mapped(calls.schedules.list(...args), (all) => all.map((each) => decodeSchedule(codec, each))),
    }),
  };
  return codec.secret ? { ...verbs, ...secretVerbs(calls, codec) } : verbs;
}

/** Returns the verbs whose texts may quote the content. The name of an error stays readable. */
function secretVerbs(calls: StoreCalls, codec: JobCodec): Partial<StoreCalls> {
  return {
    fail: (failures) =>
      calls.fail(failures.map((failure) => ({ ...failure, error: encodeError(codec, failure.error) }))),
    log: (claim, keep, lines) =>
      calls.log(
        claim,
        keep,
        lines.map((line) => JSON.stringify(encodeText(codec, JSON.parse(line) as string))),
      ),
  };
}

function encodeError(codec: JobCodec, error: StoredError): StoredError {
  if (error.name === UNREADABLE && error.stack === undefined) {
    return error; // a refusal's error says nothing about the content, and must be readable without the key
  }
  return { name: error.name, message: encodeText(codec, JSON.stringify(error)) };
}

/** Decodes a claim. An unreadable job is refused, and becomes a dead letter with the reason. */
function decodeClaim(codec: JobCodec | undefined, reply: ClaimReply): ClaimReply {
  if (
    !reply.jobs.some(
      ({ payload, checkpoint }) => codecOf(payload) !== undefined || codecOf(checkpoint) !== undefined,
    )
  ) {
    return reply;
  }
  const jobs: ClaimedJob[] = [];
  const refused: RefusedJob[] = [...reply.refused];
  for (const job of reply.jobs) {
    try {
      const [payload, checkpoint] = [job.payload, job.checkpoint].map((content) => decodeContent(codec, content));
      jobs.push({ ...job, payload, checkpoint });
    } catch (error) {
      const { id, token, fence } = job;
      const { name, message } = error as CodecError;
      refused.push({ id, token, fence, error: { name, message }, job: { ...job, payload: undefined } });
    }
  }
  return Object.assign(reply, { jobs, refused });
}

/** Returns an unreadable record as stored, so that one job does not hide the others. */
function decodeRecord(codec: JobCodec, job: JobRecord): JobRecord {
  const decoded: JobRecord = {
    ...job,
    payload: readable(codec, job.payload),
    attemptLog: job.attemptLog.map((attempt) => decodeAttempt(codec, attempt)),
    log: job.log.map(({ at, message }) => ({ at, message: readableText(codec, message) })),
  };
  if (job.result !== undefined) {
    decoded.result = readable(codec, job.result);
  }
  if (job.progress !== undefined) {
    decoded.progress = readable(codec, job.progress);
  }
  if (job.checkpoint !== undefined) {
    decoded.checkpoint = readable(codec, job.checkpoint);
  }
  if (job.lastError !== undefined) {
    decoded.lastError = messageOf(codec, job.lastError);
  }
  return decoded;
}

/** Decodes the result and error of a member. A member of a queue with another codec stays as stored. */
function decodeMember(codec: JobCodec, { result, error, ...member }: BatchMember): BatchMember {
  return {
    ...member,
    ...(result !== undefined && { result: readable(codec, result) }),
    ...(error !== undefined && { error: messageOf(codec, error) }),
  };
}

function messageOf(codec: JobCodec, error: string): string {
  return decodeError(codec, { name: 'Error', message: error }).message;
}

function decodeAttempt(codec: JobCodec, attempt: AttemptRecord): AttemptRecord {
  return attempt.error ? { ...attempt, error: decodeError(codec, attempt.error) } : attempt;
}

function decodeError(codec: JobCodec, error: StoredError): StoredError {
  const text = readableText(codec, error.message);
  return text === error.message ? error : (JSON.parse(text) as StoredError);
}

function decodeSchedule(codec: JobCodec, schedule: ScheduleRecord): ScheduleRecord {
  return { ...schedule, payload: readable(codec, schedule.payload) };
}

function readable(codec: JobCodec, stored: unknown): unknown {
  try {
    return decodeContent(codec, stored);
  } catch {
    return stored;
  }
}

function readableText(codec: JobCodec, text: string): string {
  try {
    return decodeText(codec, text);
  } catch {
    return text;
  }
}

function mapped<Reply>(call: StoreCall<Reply>, map: (reply: Reply) => Reply): StoreCall<Reply> {
  const { afterCut } = call;
  const own: StoreCall<Reply> = { ...call, decode: (reply) => map(call.decode(reply)) };
  return afterCut ? { ...own, afterCut: () => mapped(afterCut(), map) } : own;
}

/** Returns the same object, with some of its methods in front: the store finds its own fields on it. */
function over<Verbs extends object>(verbs: Verbs, own: Partial<Verbs>): Verbs {
  return Object.assign(Object.create(verbs) as Verbs, own);
}
