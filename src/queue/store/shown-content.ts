// The door between what is stored and every window of it: dashboard, command line, traces.
import {
  payloadOf,
  REDACTED,
  redactValue,
  TextRedaction,
  textRedaction,
  type Redact,
  type RedactedPart,
} from '../codec/redact.js';
import type { AuditEntry } from '../model/job-event.js';
import type { BatchMember } from '../model/batch.js';
import type { JobEvent } from '../model/job-event.js';
import type { AttemptRecord, JobRecord } from '../model/job.js';
import type { ScheduleRecord } from '../model/schedule.js';
import { FAILURE_PREFIX } from '../validation/names.js';

/**
 * Hides what the queue's `redact` names. An error may quote the payload. So an error that comes without its payload is
 * hidden as a whole.
 */
export class ShownContent {
  /**
   * @param redact undefined: nothing is hidden
   * @param hidesTexts true to hide errors and log lines as a whole
   */
  constructor(
    private readonly redact: Redact | undefined,
    private readonly hidesTexts = false,
  ) {}

  /** Returns a content that shows no value and no text of a job. */
  static nothing(): ShownContent {
    return new ShownContent(() => REDACTED, true);
  }

  record(job: JobRecord): JobRecord {
    return this.redact !== undefined && hasLostItsName(job)
      ? redactRecord(() => REDACTED, job, true)
      : redactRecord(this.redact, job, this.hidesTexts);
  }

  schedule(schedule: ScheduleRecord): ScheduleRecord {
    return { ...schedule, payload: redactValue(this.redact, schedule.payload, { part: 'payload', job: schedule }) };
  }

  /** Returns a member of a batch. Its queue must be this one. */
  member(member: BatchMember): BatchMember {
    const { id, queue, result } = member;
    return this.withoutError(
      result === undefined
        ? member
        : {
            ...member,
            result: redactValue(this.redact, result, { part: 'result', job: { id, queue, name: queue } }),
          },
    );
  }

  event(queue: string, event: JobEvent): JobEvent {
    const { id, name = queue, progress, result } = event;
    const job = { id, name, queue };
    return this.withoutError({
      ...event,
      ...(progress !== undefined && { progress: redactValue(this.redact, progress, { part: 'progress', job }) }),
      ...(result !== undefined && { result: redactValue(this.redact, result, { part: 'result', job }) }),
    });
  }

  auditEntry(entry: AuditEntry): AuditEntry {
    return this.withoutError(entry);
  }

  private withoutError<Value extends { readonly error?: string }>(value: Value): Value {
    return this.redact === undefined || value.error === undefined ? value : { ...value, error: REDACTED };
  }
}

/** Returns whether a job has the id of a failure job, but another name. Then nobody knows what its payload has. */
function hasLostItsName({ id, name }: JobRecord): boolean {
  return id.startsWith(FAILURE_PREFIX) && !name.startsWith(FAILURE_PREFIX);
}

/** Returns a job as it may be shown. */
function redactRecord(redact: Redact | undefined, job: JobRecord, hidesTexts: boolean): JobRecord {
  if (redact === undefined) {
    return job;
  }
  const texts = hidesTexts ? new TextRedaction(redact, undefined, job) : textRedaction(redact, job);
  const value = (part: RedactedPart['part']) => redactValue(redact, job[part], { part, job });
  return {
    ...job,
    payload: job.name.startsWith(FAILURE_PREFIX) ? failurePayload(redact, job, texts) : value('payload'),
    attemptLog: job.attemptLog.map((attempt) => redactAttempt(texts, attempt)),
    log: job.log.map(({ at, message }) => ({ at, message: texts.text(message) })),
    ...(job.result !== undefined && { result: value('result') }),
    ...(job.progress !== undefined && { progress: value('progress') }),
    ...(job.checkpoint !== undefined && { checkpoint: value('checkpoint') }),
    ...(job.lastError !== undefined && { lastError: texts.text(job.lastError) }),
    ...(job.brokenPayload !== undefined && { brokenPayload: REDACTED }),
  };
}

function redactAttempt(texts: TextRedaction, attempt: AttemptRecord): AttemptRecord {
  return attempt.error ? { ...attempt, error: texts.error(attempt.error) } : attempt;
}

function failurePayload(redact: Redact, job: JobRecord, texts: TextRedaction): unknown {
  const failure = job.payload as { name: string; error: string };
  const payload = redactValue(redact, payloadOf(job), { part: 'payload', job: { ...job, name: failure.name } });
  return { ...failure, payload: JSON.stringify(payload), error: texts.text(failure.error) };
}
