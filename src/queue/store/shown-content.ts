// The door between what is stored and every window of it: dashboard, command line, alerts. A window takes no other records.
import { announcedRedact, type AnnouncedContent } from '../codec/announced-content.js';
import { isEncoded } from '../codec/stored-value.js';
import { failedPayloads, storedFailure } from '../codec/failure-job.js';
import {
  REDACTED,
  redactValue,
  TextRedaction,
  type Redact,
  type RedactedPart,
  visibleForm,
} from '../codec/redact.js';
import { nameOfCode, serializeError } from '../errors/stored-error.js';
import type { AuditEntry, JobEvent } from '../model/job-event.js';
import type { BatchMember } from '../model/batch.js';
import type { AttemptRecord, JobRecord } from '../model/job.js';
import type { ScheduleRecord } from '../model/schedule.js';
import { withoutUndefined } from '../runtime/collections.js';
import { FAILURE_PREFIX } from '../validation/names.js';
import type { QueueAccess } from './queue-store.js';

declare const SHOWN: unique symbol;

/** What a window has of a payload. Only a whole one has a value. */
export type ShownPayload =
  | { readonly is: 'whole'; readonly value: unknown }
  /** A list left it out, because it is long. */
  | { readonly is: 'left-out'; readonly bytes: number }
  /** Its text is not JSON. */
  | { readonly is: 'broken'; readonly text: string }
  /** A codec wrote it that this process does not have. */
  | { readonly is: 'coded'; readonly codec: string; readonly value: unknown }
  /** The job cannot be shown. */
  | { readonly is: 'unshown'; readonly reason: string };

/** The record of a job without its payload. */
export type JobFacts = Omit<JobRecord, 'payload' | 'brokenPayload' | 'leftOut'>;

/** A job as a window may show it. Its values are plain data. */
export interface ShownJob extends JobFacts {
  readonly [SHOWN]: true;
  payload: ShownPayload;
  /** The other parts that a list left out, with their length in bytes. */
  leftOut?: Omit<NonNullable<JobRecord['leftOut']>, 'payload'>;
}

/** Returns a job as JSON for programs has it. */
export function jsonOf({ payload, ...job }: ShownJob): object {
  const { is } = payload;
  return {
    ...job,
    ...((is === 'whole' || is === 'coded') && { payload: payload.value }),
    ...(is === 'broken' && { brokenPayload: payload.text }),
    ...(is === 'left-out' && { leftOut: { ...job.leftOut, payload: payload.bytes } }),
    ...(is === 'unshown' && { unshown: payload.reason }),
  };
}

/**
 * Hides what is named by each `redact` that applies to a queue. An error may quote the payload. So an error that comes
 * without its payload is hidden as a whole.
 */
export class ShownContent {
  private readonly redacts: readonly Redact[];
  private readonly hides: boolean;
  private hidesTexts = false;

  /**
   * @param known what the queue's workers hide. They write hidden values of the payload alone into texts
   * @param ofWindow what this window hides beyond that
   */
  constructor(
    known: readonly (Redact | undefined)[],
    private readonly ofWindow?: Redact,
  ) {
    this.redacts = [...known, ofWindow].filter((each) => each !== undefined);
    this.hides = this.redacts.length > 0;
  }

  /** Returns what may be shown of a queue, by its workers and by its options in this process. */
  static async of(queue: QueueAccess): Promise<ShownContent> {
    return ShownContent.by([await queue.exec((calls) => calls.content())], queue.options);
  }

  /** Returns the same by what the workers of a queue, or of each of its shards, have announced. */
  static by(
    announced: readonly (AnnouncedContent | undefined)[],
    { redact, codec }: QueueAccess['options'],
  ): ShownContent {
    const shown = new ShownContent([...announced.map(announcedRedact), redact]);
    shown.isSecret = announced.some((content) => content?.encrypted === true) || codec?.secret === true;
    return shown;
  }

  /** True if the queue is encrypted, so that no text of its jobs goes to a service of others. */
  isSecret = false;

  /** Returns a content that shows no value and no text of a job. */
  static nothing(): ShownContent {
    const nothing = new ShownContent([() => REDACTED]);
    nothing.hidesTexts = true;
    return nothing;
  }

  /** Returns the job as it may be shown. A job that cannot be shown says so, and never throws. */
  record(job: JobRecord): ShownJob {
    try {
      return this.shown(job);
    } catch (error) {
      return ShownContent.unshown(job, error);
    }
  }

  /** Returns the place and the times of a job that cannot be shown, and the reason. */
  static unshown(job: JobRecord, error: unknown): ShownJob {
    return unshown(job, serializeError(error).name);
  }

  private shown(job: JobRecord): ShownJob {
    const isDamaged = hasLostItsName(job) || (isFailure(job) && !isWholeFailure(job));
    const { all: texts, ofPayload } = this.textsOf(job, isDamaged);
    const value = (part: Exclude<RedactedPart['part'], 'payload' | 'chunk'>) =>
      this.value(job[part], part, job, texts);
    const { payload: _payload, brokenPayload: _broken, leftOut, ...facts } = job;
    const { payload: bytes, ...others } = leftOut ?? {};
    return {
      ...facts,
      payload: this.payload(job, bytes, isDamaged, ofPayload),
      attemptLog: job.attemptLog.map((attempt) => redactAttempt(texts, attempt)),
      log: job.log.map(({ at, message }) => ({ at, message: texts?.text(message) ?? message })),
      ...(job.result !== undefined && { result: value('result') }),
      ...(job.progress !== undefined && { progress: value('progress') }),
      ...(job.checkpoint !== undefined && { checkpoint: value('checkpoint') }),
      ...(job.lastError !== undefined && { lastError: texts?.text(job.lastError) ?? job.lastError }),
      ...(Object.keys(others).length > 0 && { leftOut: others }),
    } as ShownJob;
  }

  private payload(
    job: JobRecord,
    bytes: number | undefined,
    isDamaged: boolean,
    texts: TextRedaction | undefined,
  ): ShownPayload {
    const { payload, brokenPayload } = job;
    if (bytes !== undefined) {
      return { is: 'left-out', bytes };
    }
    if (brokenPayload !== undefined) {
      return { is: 'broken', text: this.hides ? REDACTED : brokenPayload };
    }
    if (isEncoded(payload)) {
      return { is: 'coded', codec: payload.$codec, value: this.value(payload, 'payload', job) };
    }
    const failure = isFailure(job) ? storedFailure(payload) : undefined;
    if (this.hides && failure) {
      const [, failed] = failedPayloads(job.name, payload) ?? [];
      const shown = this.value(failed, 'payload', { ...job, name: failure.name }, texts);
      const error = texts?.text(failure.error) ?? failure.error;
      return { is: 'whole', value: { ...failure, payload: JSON.stringify(shown), error } };
    }
    return { is: 'whole', value: this.hides && isDamaged ? REDACTED : this.value(payload, 'payload', job, texts) };
  }

  schedule(schedule: ScheduleRecord): ScheduleRecord {
    const texts = new TextRedaction();
    const { payload, id, name, queue } = schedule;
    this.redacts.forEach((redact) => texts.know(redact, payload, { part: 'payload', job: { id, name, queue } }));
    return { ...schedule, payload: this.value(payload, 'payload', schedule, texts) };
  }

  /** Returns a member of a batch. Its queue must be this one. */
  member(member: BatchMember): BatchMember {
    const { id, queue, result } = member;
    return this.withoutError({
      ...member,
      ...(result !== undefined && { result: this.apart(result, 'result', { id, queue, name: queue }) }),
    });
  }

  event(queue: string, event: JobEvent): JobEvent {
    const { id, name = queue, progress, result } = event;
    const job = { id, name, queue };
    return this.withoutError({
      ...event,
      ...(progress !== undefined && { progress: this.apart(progress, 'progress', job) }),
      ...(result !== undefined && { result: this.apart(result, 'result', job) }),
    });
  }

  /** Returns a chunk of a job's stream. Its texts may quote the payload, so they are hidden where anything is. */
  chunk(chunk: unknown, job: RedactedPart['job']): unknown {
    return this.apart(chunk, 'chunk', job);
  }

  auditEntry(entry: AuditEntry): AuditEntry {
    return this.withoutError(entry);
  }

  private withoutError<Value extends { readonly error?: string }>(value: Value): Value {
    return !this.hides || value.error === undefined ? value : { ...value, error: REDACTED };
  }

  /** Returns the visible part of a value. @param texts hides what another part of the job hides, where a text quotes it */
  private value(
    value: unknown,
    part: RedactedPart['part'],
    job: RedactedPart['job'],
    texts?: TextRedaction,
  ): unknown {
    const about = { part, job: { id: job.id, name: job.name, queue: job.queue } };
    const shown = this.redacts.reduce((rest, redact) => redactValue(redact, rest, about), value);
    const plain = this.hides ? shown : visibleForm(shown);
    if (texts?.hidesAll) {
      return withoutTexts(plain);
    }
    return texts?.isEmpty === false ? texts.value(plain) : plain;
  }

  /** Returns the visible part of a value whose job is not read. Its texts may quote the payload, so they are hidden. */
  private apart(value: unknown, part: RedactedPart['part'], job: RedactedPart['job']): unknown {
    const shown = this.value(value, part, job);
    return this.hides ? withoutTexts(shown) : shown;
  }

  /** Returns what the texts of a job hide, and those within its payload. Neither where nothing is hidden. */
  private textsOf(job: JobRecord, isDamaged: boolean): { all?: TextRedaction; ofPayload?: TextRedaction } {
    if (!this.hides) {
      return {};
    }
    const ofPayload = new TextRedaction();
    const texts = new TextRedaction();
    const payloads = (isFailure(job) ? failedPayloads(job.name, job.payload) : undefined) ?? [job.payload];
    const known = payloads.filter((payload) => payload !== undefined);
    const about = (part: RedactedPart['part']) => ({ part, job: { id: job.id, name: job.name, queue: job.queue } });
    for (const redact of this.redacts) {
      known.forEach((payload) => ofPayload.know(redact, payload, about('payload')));
      for (const part of ['result', 'progress', 'checkpoint'] as const) {
        texts.know(redact, job[part], about(part));
      }
    }
    const { result, progress } = job.leftOut ?? {};
    const isPart = known.length === 0 || result !== undefined || progress !== undefined;
    const hasSteps = this.ofWindow !== undefined && job.steps !== undefined;
    const isWhole = !isPart && !isDamaged && !hasSteps && !this.hidesTexts;
    return { all: isWhole ? texts.include(ofPayload) : texts.hideAll(), ofPayload };
  }
}

function isFailure({ name }: JobRecord): boolean {
  return name.startsWith(FAILURE_PREFIX);
}

/** Returns whether a failure job has the payload that this library writes. A list may have left it out. */
function isWholeFailure({ payload, leftOut }: JobRecord): boolean {
  return leftOut?.payload !== undefined || storedFailure(payload) !== undefined;
}

/** Returns whether a job has the id of a failure job, but another name. Then nobody knows what its payload has. */
function hasLostItsName({ id, name }: JobRecord): boolean {
  return id.startsWith(FAILURE_PREFIX) && !name.startsWith(FAILURE_PREFIX);
}

function redactAttempt(texts: TextRedaction | undefined, attempt: AttemptRecord): AttemptRecord {
  return attempt.error && texts ? { ...attempt, error: texts.error(attempt.error) } : attempt;
}

/** Returns a value with a mark in place of each text, and with its keys. */
function withoutTexts(value: unknown): unknown {
  if (typeof value === 'string') {
    return REDACTED;
  }
  if (Array.isArray(value)) {
    return value.map(withoutTexts);
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutTexts(each)]))
    : value;
}

/** Returns a row that says that the job cannot be shown. It has its place and its times, and no content. */
function unshown(job: JobRecord, errorName: string): ShownJob {
  const { id, queue, name, status, attempts, errors, crashes, interruptions, unhandled, priority, enqueuedAt } =
    job;
  const { dueAt, claimedAt, completedAt, failedAt, cancelledAt, worker, fence } = job;
  const row: Omit<ShownJob, typeof SHOWN> = {
    id,
    queue,
    name,
    status,
    attempts,
    errors,
    crashes,
    interruptions,
    unhandled,
    priority,
    enqueuedAt,
    ...withoutUndefined<Partial<JobFacts>>({
      dueAt,
      claimedAt,
      completedAt,
      failedAt,
      cancelledAt,
      worker,
      fence,
    }),
    attemptLog: [],
    log: [],
    payload: { is: 'unshown', reason: `This job cannot be shown: reading it threw ${nameOfCode(errorName)}.` },
  };
  return row as ShownJob;
}
