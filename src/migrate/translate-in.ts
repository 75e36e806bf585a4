// What jobs, options and schedulers of BullMQ and Bull become here, or why they stay there.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { sealFailure, sealJson } from '../queue/codec/sealed.js';
import { parseJson } from '../queue/codec/stored-value.js';
import { encodeJob } from '../queue/enqueue/encode-job.js';
import type { EnqueueOptions } from '../queue/enqueue/enqueue-options.js';
import { serializeError } from '../queue/errors/stored-error.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { StoredBackoff } from '../queue/model/backoff.js';
import type { Recurrence } from '../queue/model/schedule.js';
import { nextTick } from '../queue/schedules/recurrence.js';
import { encodeSchedule, type ScheduleOptions } from '../queue/schedules/schedule.js';
import type { DeadEntry, OnceEntry } from '../queue/verbs/once.js';
import type { OldJob, OldScheduler, Source } from './bullmq-source.js';
import { nameOf, priorityOf, type MoveRules } from './move-rules.js';

/** The delay between attempts, in the options of a job of BullMQ or Bull. */
const backoffSchema = z.union([
  z.number(),
  z.looseObject({ type: z.string(), delay: z.number().optional(), jitter: z.number().optional() }),
]);
const number = z.number().nullish();

const optionsSchema = z.looseObject({
  attempts: number,
  priority: number,
  backoff: backoffSchema.nullish(),
  removeOnComplete: z.unknown().optional(),
  timeout: number,
  tm: z.unknown().optional(),
  repeat: z.looseObject({ key: z.string().optional() }).nullish(),
});

/** The options that are translated, and the names of the others. */
interface OldOptions {
  attempts: number | undefined;
  priority: number | undefined;
  backoff: z.output<typeof backoffSchema> | undefined;
  resultTtlMs: number | undefined;
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  repeat: { key?: string | undefined } | undefined;
  others: string[];
}

/** The options that the move itself replaces, or that mean nothing here. */
const REPLACED_OPTIONS = new Set(
  'attempts priority backoff timeout repeat jobId delay timestamp prevMillis repeatJobKey de debounce deduplication lifo'.split(
    ' ',
  ),
);
/** The names of shortened options. */
const LONG_NAMES: Readonly<Record<string, string>> = {
  kl: 'keepLogs',
  tm: 'telemetry',
  omc: 'telemetry.omitContext',
  fpof: 'failParentOnFailure',
  cpof: 'continueParentOnFailure',
  idof: 'ignoreDependencyOnFailure',
  rdof: 'removeDependencyOnFailure',
};

/** @throws Error for options that cannot be read */
function readOptions(json = '{}'): OldOptions {
  const parsed = optionsSchema.safeParse(JSON.parse(json));
  if (!parsed.success) {
    throw new Error('its options cannot be read');
  }
  const { attempts, priority, backoff, removeOnComplete, timeout, tm, repeat, ...rest } = parsed.data;
  const age = (removeOnComplete as { age?: unknown } | null | undefined)?.age;
  const resultTtlMs = typeof age === 'number' && age > 0 ? Math.round(age * 1_000) : undefined;
  const traceparent = traceparentOf(tm);
  const others = {
    ...rest,
    ...(resultTtlMs === undefined && removeOnComplete !== undefined && { removeOnComplete }),
    ...(traceparent === undefined && tm !== undefined && { tm }),
  };
  return {
    attempts: attempts ?? undefined,
    priority: priority ?? undefined,
    backoff: backoff ?? undefined,
    resultTtlMs,
    timeoutMs: timeout ?? undefined,
    traceparent,
    repeat: repeat ?? undefined,
    others: Object.keys(others).filter((name) => !REPLACED_OPTIONS.has(name)),
  };
}

function traceparentOf(carrier: unknown): string | undefined {
  const [found] = /[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}/.exec(JSON.stringify(carrier) ?? '') ?? [];
  return found;
}

/** Returns the names of the options that have no counterpart. */
function droppedOptions({ others }: OldOptions): string[] {
  return others.map((name) => LONG_NAMES[name] ?? name);
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 31_536_000_000;

/** Returns the delay before a retry, or why the operator must choose one. Without one a retry comes at once, as there. */
function backoffOf(
  old: OldOptions['backoff'],
  chosen: ReadonlyMap<string, StoredBackoff>,
  attempts: number,
): { value: StoredBackoff; reason?: undefined } | { reason: string } {
  if (old === undefined || typeof old === 'number') {
    return { value: old ?? 0 };
  }
  const { type, delay: delayMs = 0, jitter } = old;
  if (type === 'fixed' || type === 'exponential') {
    const longest = Math.min(YEAR_MS, delayMs * 2 ** Math.max(0, attempts - 2));
    return {
      value: {
        type,
        delayMs,
        jitter: jitter ?? 0,
        // There it has no bound, and here one of an hour by default.
        ...(type === 'exponential' && longest > HOUR_MS && { maxDelayMs: Math.max(delayMs, longest) }),
      },
    };
  }
  const value = chosen.get(type);
  return value === undefined
    ? { reason: `its backoff ${JSON.stringify(type)} is code: pass --backoff ${type}=exponential:1000` }
    : { value };
}

// What a job of BullMQ or Bull becomes here, or why it stays there.

/** A job as it is added here, and the options that have no counterpart. */
export interface Translated {
  job: OnceEntry['job'];
  ran?: NonNullable<OnceEntry['ran']>;
  /** Only of a failed job, which becomes a dead letter. */
  failure?: DeadEntry['failure'];
  dropped: string[];
}

/** A job that stays, and why. Alike reasons are counted together. */
interface Refusal {
  reason: string;
}

/** What a translation needs to know beside the job. */
interface TranslateParts {
  queue: JobQueue;
  rules: MoveRules;
  /** The schedulers that stay: their next jobs stay too, because each of them makes the one after it. */
  staying: ReadonlySet<string>;
}

const MOST_ATTEMPTS = 1_000;

/** Returns what a job becomes. */
export function translateJob(old: OldJob, parts: TranslateParts): Translated | Refusal {
  const { fields } = old;
  if (fields.name === undefined || fields.data === undefined) {
    return { reason: 'its hash is gone or broken' };
  }
  if (fields.parentKey !== undefined || fields.defa !== undefined || old.isParent) {
    return { reason: 'it belongs to a flow' };
  }
  try {
    const options = readOptions(fields.opts);
    const scheduler = fields.rjk ?? options.repeat?.key;
    if (scheduler !== undefined && parts.staying.has(scheduler)) {
      return { reason: 'its scheduler stays' };
    }
    JSON.parse(fields.data);
    return translated(old, fields.name, options, parts);
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function translated(old: OldJob, name: string, options: OldOptions, parts: TranslateParts): Translated | Refusal {
  const { queue, rules } = parts;
  const priority = priorityOf(rules, options.priority ?? Number(old.fields.priority ?? 0));
  if (typeof priority === 'string') {
    return { reason: priority };
  }
  const maxAttempts = Math.min(Math.max(1, options.attempts ?? 1), MOST_ATTEMPTS);
  const backoff = backoffOf(options.backoff, rules.backoffs, maxAttempts);
  if (backoff.reason !== undefined && hasRetries(old, maxAttempts)) {
    return { reason: backoff.reason };
  }
  const asked: EnqueueOptions = {
    id: rules.newIds ? `bull:${old.id}:${queue.store.clock.randomId()}` : old.id,
    name: nameOf(rules, name),
    maxAttempts,
    ...(maxAttempts > 1 && backoff.reason === undefined && { backoff: backoff.value }),
    ...(priority > 0 && { priority }),
    ...(old.place === 'delayed' && { runAt: old.dueMs }),
    ...(old.place !== 'failed' && uniqueOf(old)),
    ...(options.resultTtlMs !== undefined && { resultTtlMs: options.resultTtlMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(options.traceparent !== undefined && { metadata: { traceparent: options.traceparent } }),
  };
  const encoded = encodeJob(queue, null, asked, `job ${old.id}`);
  const owner = { queue: queue.name, id: encoded.id };
  const job = { ...encoded, payload: sealJson(queue.options, old.fields.data!, owner) };
  const dropped = [
    ...droppedOptions(options),
    ...(maxAttempts > 1 && backoff.reason !== undefined ? ['backoff'] : []),
  ];
  if (old.place === 'failed') {
    return { job, ran: pastOf(old, maxAttempts), failure: failureOf(old, queue), dropped };
  }
  const ran = ranOf(old, maxAttempts);
  return { job, ...(ran && { ran }), dropped };
}

/** Returns whether a retry may follow the next attempt. Without one no delay is needed. */
function hasRetries(old: OldJob, maxAttempts: number): boolean {
  const { errors, crashes } = pastOf(old, maxAttempts);
  return old.place !== 'failed' && maxAttempts - errors - crashes > 1;
}

/** Returns what the job had there. It may run once more, as there: a manual retry does not reset the attempts. */
function ranOf(old: OldJob, maxAttempts: number): OnceEntry['ran'] {
  const past = pastOf(old, maxAttempts - 1);
  return past.errors + past.crashes === 0 ? undefined : past;
}

function pastOf({ fields }: OldJob, mostAttempts: number): NonNullable<OnceEntry['ran']> {
  const errors = Number(fields.atm ?? fields.attemptsMade ?? 0);
  const crashes = Number(fields.stc ?? 0);
  return { attempts: Math.min(errors + crashes, mostAttempts), errors, crashes };
}

const STACKS = z.array(z.string()).catch([]);

/** Returns the last error of a failed job. Its name is in its stack only. */
function failureOf({ id, fields, score }: OldJob, queue: JobQueue): DeadEntry['failure'] {
  const { failedReason: message = '', stacktrace, processedOn, finishedOn } = fields;
  const stack = STACKS.parse(parseJson(stacktrace).value).at(-1);
  const [, name] = /^(\w+): /.exec(stack ?? '') ?? [];
  const thrown = serializeError(Object.assign(new Error(message), { name: name ?? 'Error', stack }));
  const { error } = sealFailure(queue.options.codec, queue.name, { id, error: thrown });
  const endedAt = Number(finishedOn ?? score);
  return { error, startedAt: Number(processedOn ?? endedAt), endedAt };
}

/** Returns the unique key of a job that still holds its key of deduplication. */
function uniqueOf({ fields, hasLostKey, dedupTtlMs }: OldJob): Pick<EnqueueOptions, 'unique'> {
  const key = fields.deid;
  return key === undefined || hasLostKey
    ? {}
    : { unique: { key, for: dedupTtlMs > 0 ? { ms: dedupTtlMs } : 'unfinished' } };
}

// What a scheduler of BullMQ, or a repeatable job of Bull, becomes here, or why it stays there.

/** A scheduler with what makes its jobs, which Bull keeps in its next job. */
interface ReadScheduler extends OldScheduler {
  /** Its id here. */
  newId: string;
  name: string;
  /** JSON; undefined for none. */
  data: string | undefined;
  /** JSON of the options of its jobs. */
  opts: string | undefined;
  rule: { pattern?: string; every?: number; tz?: string; startDate?: number; endDate?: number; left?: number };
}

/** A schedule as it is created here. */
export interface NewSchedule {
  id: string;
  recurrence: Recurrence;
  options: ScheduleOptions;
}

/** What a scheduler becomes. */
interface TranslatedScheduler {
  /** Undefined if its last job is made: it only ends. */
  schedule: NewSchedule | undefined;
}

/**
 * Returns what a scheduler becomes. Its next time must be one here too. The job of that time is there already, and
 * moves like the other jobs. So the schedule begins after it.
 */
export function translateScheduler(
  old: ReadScheduler,
  queue: JobQueue,
  rules: MoveRules,
): TranslatedScheduler | Refusal {
  const { newId: id, nextMs, rule } = old;
  if (rule.pattern === undefined && rule.every === undefined) {
    return { reason: 'its rule cannot be read' };
  }
  try {
    const left = rule.left;
    if ((left !== undefined && left <= 0) || (rule.endDate !== undefined && rule.endDate <= nextMs)) {
      return { schedule: undefined };
    }
    const times: Recurrence =
      rule.pattern === undefined
        ? { everyMs: rule.every! }
        : { cron: rule.pattern, ...(rule.tz !== undefined && { timeZone: rule.tz }) };
    const schedule: NewSchedule = {
      id,
      recurrence: {
        ...times,
        startAt: nextMs + 1,
        ...(rule.endDate !== undefined && { endAt: rule.endDate }),
        ...(left !== undefined && { limit: left }),
      },
      options: optionsOf(old, rules),
    };
    encodeSchedule(queue, id, schedule.recurrence, schedule.options);
    const ours = nextTick(times, nextMs - 1);
    const isShifted = ours !== nextMs && !(rule.every !== undefined && rules.shiftIntervals);
    return isShifted ? { reason: shifted(old, ours) } : { schedule };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function shifted({ nextMs, rule }: ReadScheduler, ours: number): string {
  const [theirs, here] = [nextMs, ours].map((ms) => new Date(ms).toISOString());
  const remedy =
    rule.every === undefined
      ? 'its time zone is that of its process: set tz there, or create the schedule by hand'
      : 'intervals are whole multiples here: pass --shift-intervals to accept that';
  return `it fires next at ${theirs}, and here at ${here}; ${remedy}`;
}

function optionsOf({ name, data, opts }: ReadScheduler, rules: MoveRules): ScheduleOptions {
  const options: OldOptions = readOptions(opts);
  const priority = priorityOf(rules, options.priority ?? 0);
  const maxAttempts = Math.max(1, options.attempts ?? 1);
  const backoff = maxAttempts > 1 ? backoffOf(options.backoff, rules.backoffs, maxAttempts) : undefined;
  if (typeof priority === 'string') {
    throw new Error(priority);
  }
  if (backoff?.reason !== undefined) {
    throw new Error(backoff.reason);
  }
  return {
    name: nameOf(rules, name),
    payload: data === undefined ? {} : (JSON.parse(data) as unknown),
    maxAttempts,
    ...(backoff && { backoff: backoff.value }),
    ...(priority > 0 && { priority }),
    ...(options.resultTtlMs !== undefined && { resultTtlMs: options.resultTtlMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  };
}

/** Returns a scheduler with what makes its jobs. */
export async function readScheduler(source: Source, old: OldScheduler): Promise<ReadScheduler> {
  return Object.keys(old.fields).length > 0 ? ofBullMQ(old) : ofBull(source, old);
}

function ofBullMQ(old: OldScheduler): ReadScheduler {
  const { name = '', data, opts, pattern, every, tz, startDate, endDate, limit, ic } = old.fields;
  // The job of its next time is counted already.
  const left = limit === undefined ? undefined : Number(limit) - Number(ic ?? 1);
  const rule = {
    ...(pattern !== undefined && { pattern }),
    ...(every !== undefined && { every: Number(every) }),
    ...(tz !== undefined && { tz }),
    ...(startDate !== undefined && { startDate: Number(startDate) }),
    ...(endDate !== undefined && { endDate: Number(endDate) }),
    ...(left !== undefined && { left }),
  };
  return { ...old, newId: old.id, name, data, opts, rule };
}

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

/** The repeat options in the hash of Bull's next job. */
interface BullRepeat {
  cron?: string;
  every?: number;
  tz?: string;
  startDate?: string | number;
  endDate?: string | number;
  limit?: number;
  count?: number;
  jobId?: string;
}

/** Reads the rule from the job of the next time. Bull keeps it nowhere else. */
async function ofBull(source: Source, old: OldScheduler): Promise<ReadScheduler> {
  const [name = '', part = ''] = old.id.split(':');
  const jobId = `repeat:${md5(`${name}${part}:${md5(old.id)}`)}:${old.nextMs}`;
  const [next] = await source.jobs('delayed', [[jobId, 0]]);
  const options = JSON.parse(next?.fields.opts ?? '{}') as { repeat?: BullRepeat };
  const { cron, every, tz, endDate, limit, count } = options.repeat ?? {};
  const rule = {
    ...(cron !== undefined && { pattern: cron }),
    ...(every !== undefined && { every }),
    ...(tz !== undefined && { tz }),
    ...(endDate !== undefined && { endDate: new Date(endDate).getTime() }),
    ...(limit !== undefined && { left: limit - (count ?? 1) }),
  };
  // Its id has the whole rule. The name and the job's id are shorter, and unique where Bull's are.
  const newId = (part === '' ? `${name}:${md5(old.id).slice(0, 8)}` : part).replaceAll(/[^\w.:@-]/g, '_');
  return { ...old, newId, name, data: next?.fields.data, opts: next?.fields.opts, rule };
}
