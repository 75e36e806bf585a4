// Describes a job: its details, why it does not run, and each attempt.
import { asCommand } from '../inspect/words.js';
import { attemptInWords } from '../inspect/job-words.js';
import { ATTEMPT_STATES, STATE_MARKS } from '../inspect/marks.js';
import type { Reason } from '../inspect/why-not-running.js';
import type { JobReference } from '../queue/model/batch.js';
import type { AttemptRecord } from '../queue/model/job.js';
import type { ShownJob, ShownPayload } from '../queue/store/shown-content.js';
import type { StoredError } from '../queue/errors/stored-error.js';
import { own } from '../queue/runtime/collections.js';
import type { Output } from './output.js';
import { age, clipped, instant, lines, padded, type Part, text, type Text } from './text.js';

/** Lines of a log that are shown without `--verbose`. */
const LOG_LINES = 5;
const LONGEST_ERROR = 200;

/** Returns the details of a job. `verbose`: with the stacks of its errors and all lines of its log. */
export function jobText(job: ShownJob, reason: Reason, out: Output, verbose: boolean): Text {
  const facts: [name: string, value: string | undefined][] = [
    ['job', `${job.name}  ${job.id}`],
    ['status', `${own(STATE_MARKS, job.status)?.sign ?? '?'} ${job.status}`],
    ['not running', reason?.because],
    ['next', reason?.next],
    ['attempts', `${job.attempts}${job.maxAttempts === undefined ? '' : ` of ${job.maxAttempts}`}`],
    ['rests', job.rateLimited === undefined ? undefined : `${job.rateLimited} (by RateLimitedError)`],
    ['due', job.status === 'scheduled' ? out.when(job.dueAt) : undefined],
    ['expires', job.expiresAt && out.when(job.expiresAt)],
    ['priority', job.priority > 0 ? String(job.priority) : undefined],
    ['group', job.group],
    ['slots', job.slots === undefined ? undefined : String(job.slots)],
    ['costs', json(job.limitCosts)],
    ['batch', job.batch && `${job.batch.id} of ${job.batch.queue} (${job.batch.role})`],
    ['schedule', job.schedule],
    ['after', tiedJobs(job, job.after)],
    ['followed by', tiedJobs(job, job.followedBy)],
    ['redrives', job.redriven?.from],
    ['redriven as', job.redriven?.as],
    [job.status === 'processing' ? 'worker' : 'last worker', job.worker],
    ['last error', job.lastError],
    ['payload', payloadText(job.payload)],
    ['result', json(job.result)],
    ['progress', json(job.progress)],
    ['checkpoint', json(job.checkpoint)],
    ['stream', streamedText(job)],
    ['metadata', json(job.metadata)],
    ...(job.steps ?? []).map(({ name, at, attempt }): [string, string] => [
      'step',
      `${name}: ${instant(at)}, attempt ${attempt}`,
    ]),
    ...(job.waits ?? []).map(({ name, kind, since, until, state }): [string, string] => [
      kind === 'sleep' ? 'sleep' : 'wait',
      `${name}: since ${instant(since)}${until ? `, until ${instant(until)}` : ''}, ${state}`,
    ]),
    ...(job.signals ?? []).map(({ name, at }): [string, string] => ['signal', `${name}: ${instant(at)}`]),
    ...job.log
      .slice(verbose ? 0 : -LOG_LINES)
      .map(({ at, message }): [string, string] => ['log', `${instant(at)} ${message}`]),
  ];
  const known = facts.flatMap(([name, value]) => (value === undefined ? [] : [text`${padded(name, 12)} ${value}`]));
  return lines([...known, '', ...timeline(job, out, verbose)]);
}

/** Returns how much the job has streamed, and the command that shows it. */
function streamedText({ queue, id, stream }: ShownJob): string | undefined {
  return (
    stream &&
    `${stream.entries} ${stream.entries === 1 ? 'entry' : 'entries'}, shown by: ${asCommand('stream', queue, id)}`
  );
}

/** Returns the payload, or why it is not here. */
function payloadText(payload: ShownPayload): string | undefined {
  switch (payload.is) {
    case 'broken':
      return payload.text;
    case 'unshown':
      return payload.reason;
    case 'left-out':
      return `${payload.bytes} bytes, which were not read`;
    default:
      return json(payload.value);
  }
}

function tiedJobs({ queue: home }: ShownJob, jobs: readonly JobReference[] | undefined): string | undefined {
  return jobs?.map(({ queue, id }) => (queue === home ? id : `${id} of ${queue}`)).join(', ');
}

/** Returns the life of a job, a line for each time it waited and for each attempt. */
function timeline(job: ShownJob, out: Output, verbose: boolean): Part[] {
  const { attemptLog, enqueuedAt } = job;
  const parts: Part[] = [text`  ${out.sign(STATE_MARKS.pending)} enqueued   ${out.when(enqueuedAt)}`];
  let before: AttemptRecord | undefined;
  for (const attempt of attemptLog) {
    const isFirst = before === undefined && attempt.attempt === 1;
    if (before || isFirst) {
      parts.push(waitLine(before, attempt.startedAt.getTime() - (before?.endedAt ?? enqueuedAt).getTime()));
    } else {
      parts.push('  … earlier attempts are not kept');
    }
    parts.push(...attemptLines(attempt, out, verbose));
    before = attempt;
  }
  return [...parts, ...standing(job, before, out)];
}

function waitLine(before: AttemptRecord | undefined, ms: number): Text {
  const isBackoff = before?.outcome === 'error' || before?.outcome === 'crash';
  return text`  ┄ ${padded(isBackoff ? 'backoff' : 'waited', 10)} ${age(ms)}`;
}

function attemptLines(attempt: AttemptRecord, out: Output, verbose: boolean): Text[] {
  const { outcome, startedAt, endedAt, diedAt, worker, error } = attempt;
  const state = own(ATTEMPT_STATES, outcome); // the hash may be of a later version
  const sign = state ? out.sign(STATE_MARKS[state]) : '?';
  const times = { startedMs: startedAt.getTime(), endedMs: endedAt.getTime(), diedMs: diedAt?.getTime() };
  const who = worker === null ? '' : text`  ${clipped(worker, 40)}`;
  const head = text`  ${sign} attempt ${padded(`${attempt.attempt}`, 2)} ${attemptInWords(outcome, times)}${who}`;
  return [head, ...(error ? errorLines(error, verbose) : [])];
}

/** Returns an error with its causes; the stack only where it was asked for. */
function errorLines(error: StoredError, verbose: boolean, indent = '      '): Text[] {
  const { name, message, stack, cause, errors = [] } = error;
  const frames = verbose && stack ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const folded = !verbose && stack ? '  (stack: --verbose)' : '';
  return [
    text`${indent}${clipped(name, 60)}: ${clipped(message, LONGEST_ERROR)}${folded}`,
    ...frames.map((line) => text`${indent}  ${line.trim()}`),
    ...(cause ? [text`${indent}caused by`, ...errorLines(cause, verbose, `${indent}  `)] : []),
    ...errors.flatMap((each) => errorLines(each, verbose, `${indent}  `)),
  ];
}

/** Returns the place of the job after the logged change. */
function standing(job: ShownJob, last: AttemptRecord | undefined, out: Output): Text[] {
  const { status, claimedAt, dueAt, cancelledAt, enqueuedAt } = job;
  if (status === 'processing' && claimedAt) {
    const does = job.unstarted ? 'claimed, waits for a slot for' : 'runs for';
    return [
      text`  ${out.sign(STATE_MARKS.processing)} attempt ${padded(`${job.attempts}`, 2)} ${does} ${age(out.nowMs - claimedAt.getTime())}`,
    ];
  }
  if (status === 'scheduled' && dueAt) {
    const isBackoff = last?.outcome === 'error' || last?.outcome === 'crash';
    return [text`  ┄ ${isBackoff ? 'backoff    ends' : 'starts    '} ${out.when(dueAt)}`];
  }
  if (status === 'pending') {
    return [text`  ┄ waits for  ${age(out.nowMs - (last?.endedAt ?? enqueuedAt).getTime())}`];
  }
  return cancelledAt ? [text`  ${out.sign(STATE_MARKS.cancelled)} cancelled  ${out.when(cancelledAt)}`] : [];
}

function json(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
