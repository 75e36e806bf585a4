// Returns a job without the parts that its queue hides.
import {
  payloadOf,
  REDACTED,
  redactValue,
  textRedaction,
  type Redact,
  type RedactedPart,
  type TextRedaction,
} from '../codec/redact.js';
import type { AttemptRecord, JobRecord } from '../model/job.js';
import { FAILURE_PREFIX } from '../validation/names.js';

/** Returns a job as it may be shown. */
export function redactRecord(redact: Redact | undefined, job: JobRecord): JobRecord {
  if (redact === undefined) {
    return job;
  }
  const texts = textRedaction(redact, job);
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
