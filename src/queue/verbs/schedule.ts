// The verbs of recurring jobs: the scripts of lua/schedule.
import type { Sealed } from '../codec/sealed.js';
import { parseJson } from '../codec/stored-value.js';
import { JOB_OPTIONS, jobOptionsAt, type JobOption } from '../model/job-options.js';
import { JOB_STATUSES } from '../model/job.js';
import type { Recurrence, ScheduleRecord, ScheduleRun } from '../model/schedule.js';
import {
  listOf,
  oneOf,
  oneOfEach,
  rowsOf,
  textOf,
  wholeNumberOf,
  wholeNumbersOf,
  decodeDate,
  decodeKnownDate,
} from '../replies/check-reply.js';
import { DECLARED_MS } from '../runtime/lifetimes.js';
import { encodeJobOptions } from '../scripts/encode-job-options.js';
import type { CallContext } from '../scripts/script-call.js';
import type { AskedOptions } from '../store/asked-options.js';
import { SCHEDULE_PREFIX } from '../validation/names.js';
import { PLAIN_OPTIONS, by, each, fields, flag, number, optional, own, text, verb } from './verb.js';

/** The definition of a schedule, checked. */
export interface StoredSchedule {
  id: string;
  /** Names all the rest: equal definitions have equal versions. */
  version: string;
  /** Its instants are in epoch ms. */
  recurrence: Recurrence;
  name: string;
  /** JSON. */
  payload: Sealed;
  options: AskedOptions;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
}

/** A due schedule, as a read of the queue returned it. */
export interface DueSchedule {
  id: string;
  /** Server time, in ms. */
  dueAtMs: number;
  version: string;
  /** JSON of a Recurrence. */
  recurrence: string;
}

/** The result of a look for due schedules. */
type DueLook = {
  /** Server time, in ms. */
  nowMs: number;
  /** The time until the next schedule is due, in ms, besides the due ones; undefined if there is none. */
  nextDueInMs: number | undefined;
  /** True if more are due than were looked at. */
  more: boolean;
  /** The due ones, then some of the others, to verify their due times. */
  due: DueSchedule[];
};

/** What is asked of `upsert`. */
type Upsert = {
  schedule: StoredSchedule;
  /** The worker that declares it in code; undefined for a call. */
  worker?: string | undefined;
  nextDueMs?: number | undefined;
  /** The time of the last change that the caller knows, null for a new schedule; undefined for any. */
  knownAt?: Date | null | undefined;
};

// The outcomes of each script, as in its header.
const UPSERTED = oneOf('created', 'changed', 'unchanged', 'conflict', 'declared', 'stale', 'next');
const RAN = oneOf('added', 'exists', 'kept', 'missing');
const RESUMED = oneOf('resumed', 'missing', 'next');

export type UpsertOutcome = ReturnType<typeof UPSERTED>;

const declaredMs = own(() => DECLARED_MS);
/** A due time as the scripts take it: +inf if no tick is left. */
const due = by((dueMs: number) => (dueMs === Infinity ? '+inf' : dueMs));

export const SCHEDULES = {
  upsert: verb('scheduleUpsert', {
    args: by(upsertArguments, { ...PLAIN_OPTIONS, version: true, cron: true, timeZone: true, worker: true }),
    reply(reply) {
      const [outcome, nowMs] = listOf(reply);
      return { outcome: UPSERTED(outcome), nowMs: wholeNumberOf(nowMs) };
    },
  }),

  declare: verb('scheduleDeclare', {
    args: { worker: text, declares: flag, declaredMs, schedules: each(fields({ id: text, version: text })) },
    reply: (reply, { schedules }) => oneOfEach(schedules.length, 'declared', 'conflict', 'upsert')(reply),
  }),

  /** @param given.othersFrom the first of the schedules to verify, besides the due ones; undefined for none */
  due: verb('scheduleDue', {
    args: { limit: number, declaredMs, othersFrom: optional(number) },
    reply: (reply) => decodeDue(listOf(reply)),
  }),

  tick: verb('scheduleTick', {
    args: { ticks: each(fields({ id: text, dueAtMs: number, version: text, nextDueMs: due })) },
    repeat: 'same',
    reply: (reply, { ticks }) => oneOfEach(ticks.length, 'enqueued', 'kept', 'skipped', 'moved', 'lost')(reply),
  }),

  run: verb('scheduleRun', {
    args: { id: text, jobId: text },
    repeat: 'same',
    reply(reply) {
      const [outcome, madeId = '', name = ''] = listOf(reply);
      return { outcome: RAN(outcome), jobId: textOf(madeId), name: textOf(name) };
    },
  }),

  pause: verb('schedulePause', { args: { id: text }, reply: oneOf('paused', 'missing') }),

  /** @param given.next the next due time, with the version of the definition that determined it */
  resume: verb('scheduleResume', {
    args: { id: text, next: optional(fields({ dueMs: due, version: text }), ['', '']) },
    reply(reply) {
      const [first, nowMs, version, recurrence] = listOf(reply);
      const outcome = RESUMED(first);
      return outcome === 'next'
        ? {
            outcome,
            nowMs: wholeNumberOf(nowMs),
            version: textOf(version),
            recurrence: JSON.parse(textOf(recurrence)) as Recurrence,
          }
        : { outcome };
    },
  }),

  remove: verb('scheduleRemove', {
    args: { id: text, declaredMs },
    reply: oneOf('removed', 'missing', 'declared'),
  }),

  list: verb('scheduleList', {
    args: { id: own(() => ''), offset: number, limit: number, declaredMs },
    reply: decodeSchedules,
  }),

  /** Returns a list of one, or of none. */
  get: verb('scheduleList', {
    args: { id: text, page: own(() => [0, 1]), declaredMs },
    reply: decodeSchedules,
  }),
};

function decodeSchedules(reply: unknown, _: unknown, { keys }: CallContext) {
  return listOf(reply).map((hash) => decodeSchedule(keys.queue, rowsOf(hash, 2).flat()));
}

function upsertArguments({ schedule, worker, nextDueMs, knownAt }: Upsert): (string | number)[] {
  const { id, version, recurrence, name, payload, options, onMissed, missedAfterMs } = schedule;
  return [
    id,
    worker === undefined ? 'call' : 'code',
    worker ?? '',
    nextDueMs === Infinity ? '+inf' : (nextDueMs ?? ''),
    DECLARED_MS,
    version,
    JSON.stringify(recurrence),
    name,
    payload,
    encodeJobOptions(options),
    onMissed,
    missedAfterMs,
    recurrence.limit ?? '',
    knownAt === null ? 'absent' : (knownAt?.getTime() ?? ''),
  ];
}

function decodeDue(reply: readonly unknown[]): DueLook {
  const [nowMs, nextMs, more] = wholeNumbersOf(reply.slice(0, 3), 3);
  const looked = rowsOf(reply.slice(3), 4).map(([id, dueAtMs, version, recurrence]) => ({
    id: id!,
    dueAtMs: Number(dueAtMs),
    version: version!,
    recurrence: recurrence!,
  }));
  return { nowMs: nowMs!, nextDueInMs: nextMs! < 0 ? undefined : nextMs!, more: more === 1, due: looked };
}

/** Decodes a schedule as `lua/schedule/list.lua` gives it. */
export function decodeSchedule(queue: string, flat: readonly string[]): ScheduleRecord {
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    hash.set(flat[i]!, flat[i + 1]!);
  }
  const time = (field: string) => (hash.has(field) ? (decodeDate(hash.get(field)) ?? null) : null);
  const id = hash.get('id')!;
  const source = hash.get('source') === 'code' ? 'code' : 'call';
  const recurrence = parseStored(hash.get('recurrence')) as Recurrence | undefined;
  const isDeclared = source === 'code' && hash.get('declared') === '1';
  return {
    id,
    queue,
    name: hash.get('name') ?? queue,
    payload: parseStored(hash.get('payload')),
    ...recurrence,
    startAt: instant(recurrence?.startAt),
    endAt: instant(recurrence?.endAt),
    onMissed: hash.get('on_missed') === 'once' ? 'once' : 'skip',
    missedAfterMs: Number(hash.get('missed_after_ms') ?? 0),
    ...jobOptions(id, hash.get('options')),
    status: statusOf(hash, source === 'code' && !isDeclared),
    source,
    isDeclared,
    nextAt: time('due_at_ms'),
    overdueSince: time('overdue_since_ms'),
    pausedAt: time('paused_at_ms'),
    endedAt: time('ended_at_ms'),
    lastTickAt: time('last_tick_at_ms'),
    lastJobId: hash.get('last_job') ?? null,
    ticks: Number(hash.get('ticks') ?? 0),
    skipped: Number(hash.get('skipped') ?? 0),
    runs: runsOf(id, hash.get('runs')),
    createdAt: time('created_at_ms') ?? new Date(0),
    updatedAt: time('updated_at_ms') ?? new Date(0),
  };
}

function statusOf(hash: ReadonlyMap<string, string>, undeclared: boolean): ScheduleRecord['status'] {
  if (hash.has('paused_at_ms')) {
    return 'paused';
  }
  return undeclared ? 'undeclared' : hash.has('ended_at_ms') ? 'ended' : 'active';
}

function instant(at: Date | number | undefined): Date | null {
  return at === undefined ? null : (decodeDate(at) ?? null);
}

function parseStored(stored: string | undefined): unknown {
  return parseJson(stored).value;
}

/** Returns the options of the jobs, as the scripts and the worker read them; see encode-job-options.ts. */
function jobOptions(id: string, stored: string | undefined): Pick<ScheduleRecord, 'options' | 'overlap'> {
  const script = objectOf(stored);
  const worker = objectOf(script.worker);
  const options: Record<string, unknown> = {};
  for (const name of jobOptionsAt('schedule')) {
    const option: JobOption = JOB_OPTIONS[name];
    const value =
      typeof option.script === 'string' ? script[option.script] : option.worker && worker[option.worker.field];
    if (value !== undefined) {
      options[name] = value;
    }
  }
  return { options, overlap: script.unique !== `${SCHEDULE_PREFIX}${id}` };
}

function objectOf(stored: unknown): Record<string, unknown> {
  const value = typeof stored === 'string' ? parseStored(stored) : undefined;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Returns the runs as `lua/lib/schedule/runs.lua` writes them. */
function runsOf(id: string, stored = ''): ScheduleRun[] {
  return [...stored.matchAll(/(\d{1,15})(\/\S+)?=([a-z]+)/g)].map(([, at, byHand, state]) => {
    const status = statusOfRun(state!);
    const hasJob = status !== 'missed' && status !== 'kept';
    return {
      jobId: hasJob ? `${SCHEDULE_PREFIX}${id}:${byHand?.slice(1) ?? at}` : null,
      at: decodeKnownDate(at!),
      status,
      isByHand: byHand !== undefined,
    };
  });
}

function statusOfRun(state: string): ScheduleRun['status'] {
  const known: readonly string[] = [...JOB_STATUSES, 'missed', 'kept'];
  return known.includes(state) ? (state as ScheduleRun['status']) : 'gone';
}
