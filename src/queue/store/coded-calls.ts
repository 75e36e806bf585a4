// The calls of a queue with its codec: it encodes arguments and decodes replies.
import {
  ANY_PAYLOAD,
  codecOf,
  decodeContent,
  decodeText,
  CodecError,
  type ContentContext,
  type ContentOwner,
  type JobCodec,
} from '../codec/codec.js';
import { failedPayloads } from '../codec/failure-job.js';
import type { SealedVerb } from '../codec/sealed.js';
import { parseJson } from '../codec/stored-value.js';
import { show } from '../errors/show.js';
import { decodeStoredError, type StoredError } from '../errors/stored-error.js';
import type { BatchMember } from '../model/batch.js';
import type { AttemptRecord, ClaimedJob, JobRecord, RefusedJob } from '../model/job.js';
import type { ScheduleRecord } from '../model/schedule.js';
import { SCHEDULE_PREFIX } from '../validation/names.js';
import type { DeadEntry, OnceEntry, OnceSender } from '../verbs/once.js';
import type { ClaimReply } from './attempt-forms.js';
import type { StoreCall } from './store-call.js';
import type { StoreCalls } from './store-calls.js';

/**
 * Returns the calls of a queue with its codec. Payloads, results and progress are encoded where they are checked, see
 * encodeContent.
 *
 * @param warnPlain called for a claimed job with an unencrypted payload, if the codec encrypts
 */
export function codedCalls(
  calls: StoreCalls,
  codec: JobCodec | undefined,
  queue: string,
  warnPlain: (job: ClaimedJob) => void,
): StoreCalls {
  const own: Partial<StoreCalls> = {
    claim: (request) =>
      mapped(calls.claim(request), (reply) => {
        const plain = codec?.secret ? reply.jobs.find(isInClear) : undefined;
        if (plain) {
          warnPlain(plain);
        }
        return decodeClaim(codec, reply);
      }),
  };
  return withOwn(calls, codec ? { ...own, ...codedVerbs(calls, codec, queue) } : own);
}

/** Returns whether a job is plain. The server writes the payload of a failure job around the encoded content, if it has one. */
function isInClear({ name, payload }: ClaimedJob): boolean {
  const forms = failedPayloads(name, payload) ?? [payload];
  return forms.length > 0 && codecOf(forms.at(-1)) === undefined;
}

function codedVerbs(calls: StoreCalls, codec: JobCodec, queue: string): Partial<StoreCalls> {
  const record = (job: JobRecord) => decodeRecord(codec, queue, job);
  const schedule = (each: ScheduleRecord) => decodeSchedule(codec, queue, each);
  return {
    get: (given) => mapped(calls.get(given), (job) => job && record(job)),
    list: (given) => mapped(calls.list(given), (jobs) => jobs.map(record)),
    find: (given) => mapped(calls.find(given), (slice) => ({ ...slice, jobs: slice.jobs.map(record) })),
    cancelAndReturn: (given) =>
      mapped(calls.cancelAndReturn(given), ({ outcome, cancelled }) =>
        cancelled ? { outcome, cancelled: record(cancelled) } : { outcome },
      ),
    deadLetters: withOwn(calls.deadLetters, {
      list: (given) =>
        mapped(calls.deadLetters.list(given), (slice) => ({
          ...slice,
          found: slice.found.map((each) => (each.job ? { ...each, job: record(each.job) } : each)),
        })),
    }),
    batches: withOwn(calls.batches, {
      results: (given) =>
        mapped(
          calls.batches.results(given),
          (page) => page && { ...page, members: page.members.map((member) => decodeMember(codec, member)) },
        ),
    }),
    schedules: withOwn(calls.schedules, {
      get: (given) => mapped(calls.schedules.get(given), (all) => all.map(schedule)),
      list: (given) => mapped(calls.schedules.list(given), (all) => all.map(schedule)),
    }),
  };
}

function isCoded({ payload, checkpoint }: ClaimedJob): boolean {
  return codecOf(payload) !== undefined || codecOf(checkpoint) !== undefined;
}

/** Decodes a claim. An unreadable job is refused, and becomes a dead letter with the reason. */
function decodeClaim(codec: JobCodec | undefined, reply: ClaimReply): ClaimReply {
  if (codec?.plainJobs !== 'refuse' && !reply.jobs.some(isCoded)) {
    return reply;
  }
  const jobs: ClaimedJob[] = [];
  const refused: RefusedJob[] = [...reply.refused];
  for (const job of reply.jobs) {
    try {
      const { queue, id, options } = job;
      const owner = { queue, id, payloadId: options.payloadId };
      refusePlain(codec, job);
      const payload = decodeContent(codec, job.payload, 'payload', owner);
      const checkpoint = decodeContent(codec, job.checkpoint, 'checkpoint', owner);
      jobs.push({ ...job, payload, checkpoint });
    } catch (error) {
      const { id, token, fence } = job;
      const { name, message } = error as CodecError;
      refused.push({
        id,
        token,
        fence,
        error: { name, message },
        isReadable: true,
        job: { ...job, payload: undefined },
      });
    }
  }
  return Object.assign(reply, { jobs, refused });
}

/** @throws CodecError for a job that was stored in the clear, if the codec refuses such jobs */
function refusePlain(codec: JobCodec | undefined, job: ClaimedJob): void {
  if (codec?.plainJobs === 'refuse' && isInClear(job)) {
    throw new CodecError(
      `Job ${show(job.id)} was stored in the clear, which this queue refuses: by a process without the codec, by a client of the ` +
        'Redis pattern, or before the queue had the codec. Enqueue it again where the codec is, and discard this one.',
    );
  }
}

/** Returns an unreadable record as stored, so that one job does not hide the others. */
function decodeRecord(codec: JobCodec, queue: string, job: JobRecord): JobRecord {
  const owner = { queue, id: job.id, payloadId: ANY_PAYLOAD };
  const error: ContentContext = { queue, field: 'error', id: job.id };
  const decoded: JobRecord = {
    ...job,
    payload: readable(codec, job.payload, 'payload', owner),
    attemptLog: job.attemptLog.map((attempt) => decodeAttempt(codec, error, attempt)),
    log: job.log.map(({ at, message }) => ({
      at,
      message: readableText(codec, { ...error, field: 'log' }, message),
    })),
  };
  if (job.result !== undefined) {
    decoded.result = readable(codec, job.result, 'result', owner);
  }
  if (job.progress !== undefined) {
    decoded.progress = readable(codec, job.progress, 'progress', owner);
  }
  if (job.checkpoint !== undefined) {
    decoded.checkpoint = readable(codec, job.checkpoint, 'checkpoint', owner);
  }
  if (job.lastError !== undefined) {
    decoded.lastError = messageOf(codec, error, job.lastError);
  }
  return decoded;
}

/** Decodes the result and error of a member. A member of a queue with another codec stays as stored. */
function decodeMember(codec: JobCodec, { result, error, ...member }: BatchMember): BatchMember {
  const { id, queue } = member;
  return {
    ...member,
    ...(result !== undefined && { result: readable(codec, result, 'result', { queue, id }) }),
    ...(error !== undefined && { error: messageOf(codec, { queue, field: 'error', id }, error) }),
  };
}

function messageOf(codec: JobCodec, context: ContentContext, error: string): string {
  return decodeError(codec, context, { name: 'Error', message: error }).message;
}

function decodeAttempt(codec: JobCodec, context: ContentContext, attempt: AttemptRecord): AttemptRecord {
  return attempt.error ? { ...attempt, error: decodeError(codec, context, attempt.error) } : attempt;
}

function decodeError(codec: JobCodec, context: ContentContext, error: StoredError): StoredError {
  const text = readableText(codec, context, error.message);
  return text === error.message ? error : decodeStoredError(parseJson(text).value);
}

function decodeSchedule(codec: JobCodec, queue: string, schedule: ScheduleRecord): ScheduleRecord {
  const owner = { queue, id: `${SCHEDULE_PREFIX}${schedule.id}` };
  return { ...schedule, payload: readable(codec, schedule.payload, 'payload', owner) };
}

function readable(codec: JobCodec, stored: unknown, field: ContentContext['field'], owner: ContentOwner): unknown {
  try {
    return decodeContent(codec, stored, field, owner);
  } catch {
    return stored;
  }
}

function readableText(codec: JobCodec, context: ContentContext, text: string): string {
  try {
    return decodeText(codec, text, context);
  } catch {
    return text;
  }
}

/** Lets a call map its reply, and returns it. Each call is used once. V8 would give each copy a hidden class of its own. */
function mapped<Reply, Call extends StoreCall<Reply>>(
  call: Call & StoreCall<Reply>,
  map: (reply: Reply) => Reply,
): Call {
  const { decode, afterCut } = call;
  call.decode = (reply) => map(decode(reply));
  if (afterCut) {
    call.afterCut = () => mapped(afterCut(), map);
  }
  return call;
}

/** Returns the same object, with some of its methods in front: the store finds its own fields on it. */
function withOwn<Verbs extends object>(verbs: Verbs, own: Partial<Verbs>): Verbs {
  return Object.assign(Object.create(verbs) as Verbs, own);
}

/**
 * Whose content a verb stores. A process without the key stores nothing in the clear in an encrypted queue. A worker's
 * codec has read the content of a claim. Content as stored was sealed before. Entries may be of other processes, such as
 * rows of a database: each tells by itself whether it is sealed.
 */
type Origin = 'none' | 'as stored' | 'of a claim' | 'of entries' | HasContent;

/** Returns whether the arguments of a verb have content of the caller. */
type HasContent = (...args: readonly never[]) => boolean;

/** The verbs that take a sealed text, each with whose content it is. */
const ORIGINS: Readonly<Record<SealedVerb<StoreCalls>, Origin>> = {
  enqueue: () => true,
  checkEnqueue: 'none',
  update: () => true,
  signal: ({ data }: { data: string }) => data !== '',
  'deadLetters.redrive': ({ payload }: { payload?: string }) => payload !== undefined,
  'deadLetters.redriveAsNew': ({ payload }: { payload?: string }) => payload !== undefined,
  'schedules.upsert': () => true,
  'batches.create': ({ followUps }: { followUps: readonly unknown[] }) => followUps.length > 0,
  'once.enqueue': 'of entries',
  'once.addDeadLetters': 'of entries',
  'batches.deliver': 'as stored',
  'batches.acknowledge': 'as stored',
  'batches.followUps': 'as stored',
  complete: 'of a claim',
  fail: 'of a claim',
  noteDeath: 'of a claim',
  progress: 'of a claim',
  checkpoint: 'of a claim',
  step: 'of a claim',
  log: 'of a claim',
  'streams.write': 'of a claim',
};

type VerbCall = (...args: never[]) => unknown;

/**
 * Returns the calls of a queue. They tell of each call that would store content in the clear, before it is sent.
 *
 * @param codec that of this process. A secret one has sealed all but entries
 * @param onContent may throw
 */
export function watchContent(calls: StoreCalls, codec: JobCodec | undefined, onContent: () => void): StoreCalls {
  const watched = Object.create(calls) as StoreCalls;
  const byName = watched as object as Record<string, unknown>;
  for (const [path, origin] of Object.entries(ORIGINS)) {
    const ofCaller = codec?.secret ? undefined : origin;
    const has = origin === 'of entries' ? plainEntries(calls, codec) : ofCaller;
    if (typeof has !== 'function') {
      continue;
    }
    const [verb, room] = path.split('.').toReversed() as [string, string?];
    const into = room === undefined ? byName : ownRoom(byName, room);
    const send = into[verb] as VerbCall;
    into[verb] = (...args: never[]) => {
      if (has(...args)) {
        onContent();
      }
      return Reflect.apply(send, into, args);
    };
  }
  return watched;
}

/** Returns the verbs of a room, such as `deadLetters`, of these calls alone. */
function ownRoom(watched: Record<string, unknown>, room: string): Record<string, unknown> {
  if (!Object.hasOwn(watched, room)) {
    watched[room] = Object.create(watched[room] as object) as object;
  }
  return watched[room] as Record<string, unknown>;
}

/**
 * Returns whether entries are in the clear: no codec wrote their payload, or another one than the queue's. Follow-ups of
 * batches are as the Redis of another queue has them.
 */
function plainEntries({ announced }: StoreCalls, codec: JobCodec | undefined): HasContent {
  return ({ sender, entries }: { sender: OnceSender; entries: readonly (OnceEntry | DeadEntry)[] }) =>
    !sender.isUnbounded &&
    entries.some(({ job }) => {
      const name = codecOf(parseJson(job.payload).value);
      return name === undefined || (name !== announced.content?.codec && !(codec?.secret && name === codec.name));
    });
}
