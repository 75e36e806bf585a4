import { Inject, Injectable } from '@nestjs/common';
import { type JobSigns, whyNotRunning } from '../../inspect/why-not-running.js';
import { jobLabel, openWaits, streamText } from '../../inspect/job-words.js';
import { capitalised } from '../../inspect/words.js';
import { codecOf } from '../../queue/codec/codec.js';
import type { AttemptRecord, JobRecord } from '../../queue/model/job.js';
import { ShownContent, type ShownJob } from '../../queue/store/shown-content.js';
import { type ResolvedDashboardOptions, DASHBOARD_OPTIONS } from '../dashboard-options.js';
import { Redactor } from '../security/redactor.js';
import type { StreamItem } from '../../queue/model/job-stream.js';
import type { AttemptView, JobRow, JobView } from './views.js';
import type { JobPart } from './job-file.js';
import { cut } from '../../queue/runtime/cut.js';
import { own } from '../../queue/runtime/collections.js';
import { visibleForm } from '../../queue/codec/redact.js';

const ERROR_LENGTH = 300;
/** The longest value that the page gets whole. A longer value is cut, and says so. */
const LONGEST_VALUE = 256 * 1024;
/** The start of a longer value that the page gets. */
const SHOWN_START = 20_000;
/** The most named jobs before or after a job. */
const MOST_TIES = 20;

/** Converts jobs for the page: short rows whatever the job holds, and one whole job. */
@Injectable()
export class JobDescriber {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly redactor: Redactor,
  ) {}

  /** Returns a row of a list. A job that cannot be shown is a row that says so. */
  row(job: JobRecord): JobRow {
    try {
      return this.rowOf(this.redactor.record(job));
    } catch (error) {
      return this.rowOf(ShownContent.unshown(job, error));
    }
  }

  private rowOf(job: ShownJob): JobRow {
    const [wait] = openWaits(job);
    return {
      id: job.id,
      name: cut(job.name, 256),
      queue: job.queue,
      state: job.status,
      label: this.labelFrom(job),
      attempts: job.attempts,
      maxAttempts: job.maxAttempts ?? null,
      priority: job.priority,
      group: job.group ?? null,
      at: instantOf(job),
      enqueuedAt: job.enqueuedAt.getTime(),
      worker: job.worker ?? null,
      isPrefetched: job.unstarted === true,
      error: job.status === 'completed' || job.lastError === undefined ? null : cut(job.lastError, ERROR_LENGTH),
      killed: job.status === 'failed' && job.attemptLog.at(-1)?.outcome === 'crash',
      progress: percentOf(job.progress),
      parked: wait ? { name: wait.name, since: wait.since.getTime() } : null,
    };
  }

  /** @param context.streamed the last items of its stream */
  view(
    stored: JobRecord,
    context: { actions: JobView['actions']; signs: JobSigns; streamed: readonly StreamItem[] },
  ): JobView {
    const job = this.redactor.record(stored);
    const { payload, result, progress } = job;
    return {
      ...this.rowOf(job),
      maxAttempts: job.maxAttempts ?? context.signs.maxAttempts ?? null,
      payload: payload.is === 'whole' || payload.is === 'coded' ? bounded(payload.value) : null,
      brokenPayload: payload.is === 'broken' ? cut(payload.text, LONGEST_VALUE) : null,
      unshown: payload.is === 'unshown' ? payload.reason : null,
      result: bounded(result ?? null),
      hasResult: result !== undefined,
      cut: cutParts(job),
      progressValue: bounded(progress ?? null),
      steps: (job.steps ?? []).map(({ name, at, attempt }) => ({ name, at: at.getTime(), attempt })),
      waits: (job.waits ?? []).map(({ name, kind, since, until, state }) => ({
        name,
        kind,
        since: since.getTime(),
        until: timeOf(until),
        state,
      })),
      signals: (job.signals ?? []).map(({ name, at }) => ({ name, at: at.getTime() })),
      stream: job.stream ? { entries: job.stream.entries, text: this.streamEnd(stored, context.streamed) } : null,
      log: job.log.map(({ at, message }) => ({ at: at.getTime(), message })),
      errors: job.errors,
      crashes: job.crashes,
      interruptions: job.interruptions,
      schedule: job.schedule ?? null,
      batch: job.batch ?? null,
      after: (job.after ?? []).slice(0, MOST_TIES),
      followedBy: (job.followedBy ?? []).slice(0, MOST_TIES),
      redrivenFrom: refTo(job, job.redriven?.from),
      redrivenAs: refTo(job, job.redriven?.as),
      metadata: job.metadata && Object.keys(job.metadata).length > 0 ? { ...job.metadata } : null,
      dueAt: timeOf(job.dueAt),
      claimedAt: timeOf(job.claimedAt),
      endedAt: timeOf(endOf(job)),
      cancelRequestedAt: timeOf(job.cancelRequestedAt),
      expiresAt: timeOf(job.expiresAt),
      fence: job.fence ?? null,
      attemptLog: attemptsOf(job),
      ...reasonOf(job, context.signs),
      editRefusal: this.editRefusal(stored),
      actions: context.actions,
    };
  }

  /** Returns the end of a stream as text. */
  private streamEnd(job: JobRecord, items: readonly StreamItem[]): string {
    return items
      .map((item) => streamText(item, (chunk) => this.redactor.chunk(chunk, job)))
      .join('')
      .slice(-SHOWN_START);
  }

  /** Returns why the payload of a job cannot be edited here; null if it can. */
  editRefusal(job: JobRecord): string | null {
    if (job.status !== 'failed') {
      return 'Only the payload of a dead letter can be edited.';
    }
    const codec = codecOf(job.payload);
    if (codec !== undefined) {
      return `The payload was written by the codec "${codec}", which this process cannot read. Edit it where its key is.`;
    }
    if (this.redactor.hidesPayload(job)) {
      return 'Parts of the payload are redacted, so it cannot be edited here.';
    }
    return isLong(visibleForm(job.payload)) ? 'The payload is too long to be edited here.' : null;
  }

  labelOf(job: JobRecord): string {
    return this.labelFrom(this.redactor.record(job));
  }

  private labelFrom(job: ShownJob): string {
    const { name, queue } = job;
    return jobLabel(job, (payload) => this.chosenLabel({ name, queue, payload }));
  }

  /** Returns the label that the app chose, or none: its function may throw. */
  private chosenLabel(job: { name: string; queue: string; payload: unknown }): string | undefined {
    try {
      const label: unknown = this.options.label?.(job);
      return typeof label === 'string' ? label : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Returns a reference to another job of the same queue, or none. */
function refTo({ queue }: ShownJob, id: string | undefined): { queue: string; id: string }[] {
  return id === undefined ? [] : [{ queue, id }];
}

/** Returns the parts that the page gets in part. */
function cutParts({ payload, result, progress }: ShownJob): JobPart[] {
  const isLongPayload =
    payload.is === 'broken' ? payload.text.length > LONGEST_VALUE : 'value' in payload && isLong(payload.value);
  return [
    ...(isLongPayload ? ['payload' as const] : []),
    ...(isLong(result) ? ['result' as const] : []),
    ...(isLong(progress) ? ['progress' as const] : []),
  ];
}

/** Returns a value, or the start of its JSON if it is long. */
function bounded(value: unknown): unknown {
  return isLong(value) ? cut(jsonOf(value), SHOWN_START) : value;
}

function isLong(value: unknown): boolean {
  return jsonOf(value).length > LONGEST_VALUE;
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function instantOf(job: ShownJob): number | null {
  switch (job.status) {
    case 'scheduled':
      return timeOf(job.dueAt) ?? job.enqueuedAt.getTime();
    case 'processing':
      return timeOf(job.claimedAt) ?? job.enqueuedAt.getTime();
    case 'pending':
      return job.enqueuedAt.getTime();
    default:
      return timeOf(endOf(job)) ?? job.enqueuedAt.getTime();
  }
}

function endOf(job: ShownJob): Date | undefined {
  const { status, completedAt, failedAt, cancelledAt } = job;
  return own({ completed: completedAt, failed: failedAt, cancelled: cancelledAt }, status); // another program may have set it
}

function attemptsOf(job: ShownJob): AttemptView[] {
  const ended = job.attemptLog.map((record, i) => attemptView(record, readyBefore(job, i)));
  const last = job.attemptLog.at(-1);
  if (job.status !== 'processing' || !job.claimedAt) {
    return ended;
  }
  const current: AttemptView = {
    attempt: job.attempts,
    startedAt: job.claimedAt.getTime(),
    endedAt: null,
    readyAt: last ? last.endedAt.getTime() : firstReady(job, job.claimedAt),
    worker: job.worker ?? null,
    outcome: job.unstarted ? 'prefetched' : 'running',
    error: null,
  };
  return [...ended, current];
}

function attemptView(
  { attempt, startedAt, endedAt, diedAt, worker, outcome, error }: AttemptRecord,
  readyAt: number | null,
) {
  const times = { startedAt: startedAt.getTime(), endedAt: endedAt.getTime() };
  return { attempt, ...times, readyAt, worker, outcome, error, ...(diedAt && { diedAt: diedAt.getTime() }) };
}

/** Returns when an attempt could start. The log has the last 20 attempts, so earlier attempts may be unknown. */
function readyBefore(job: ShownJob, i: number): number | null {
  const before = job.attemptLog[i - 1];
  if (before) {
    return before.endedAt.getTime();
  }
  const first = job.attemptLog[0];
  return first?.attempt === 1 ? firstReady(job, first.startedAt) : null;
}

/**
 * Returns when the first attempt could start. The due time is of the next attempt, unless it is before the start.
 */
function firstReady({ enqueuedAt, dueAt }: ShownJob, startedAt: Date): number {
  const due = dueAt && dueAt <= startedAt ? dueAt : enqueuedAt;
  return Math.max(enqueuedAt.getTime(), due.getTime());
}

/** Returns why a waiting job does not run; the state of an ended job says it. */
function reasonOf(job: ShownJob, signs: JobSigns): Pick<JobView, 'whyNotRunning' | 'remedyAt'> {
  const ended = job.status === 'completed' || job.status === 'failed' || job.status === 'cancelled';
  const reason = ended ? undefined : whyNotRunning(job, signs);
  if (!reason) {
    return { whyNotRunning: null };
  }
  const { because, next, remedy } = reason;
  const words = next === undefined ? because : `${because}; ${next}`;
  return { whyNotRunning: `${capitalised(words)}.`, ...(remedy && { remedyAt: remedy }) };
}

function percentOf(progress: unknown): number | null {
  const value =
    typeof progress === 'object' && progress !== null ? (progress as { percent?: unknown }).percent : progress;
  return typeof value === 'number' && value >= 0 && value <= 100 ? value : null;
}

function timeOf(date: Date | undefined): number | null {
  return date ? date.getTime() : null;
}
