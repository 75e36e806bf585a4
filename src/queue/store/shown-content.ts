// The door between what is stored and every window of it: dashboard, command line, traces.
import { REDACTED, redactValue, type Redact } from '../codec/redact.js';
import type { AuditEntry } from '../model/audit.js';
import type { BatchMember } from '../model/batch.js';
import type { JobEvent } from '../model/job-event.js';
import type { JobRecord } from '../model/job.js';
import type { ScheduleRecord } from '../model/schedule.js';
import { redactRecord } from './redact-record.js';

/**
 * Hides what the queue's `redact` names. An error may quote the payload. So an error that comes without its payload is
 * hidden as a whole.
 */
export class ShownContent {
  /** @param redact undefined: nothing is hidden */
  constructor(private readonly redact: Redact | undefined) {}

  record(job: JobRecord): JobRecord {
    return redactRecord(this.redact, job);
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
