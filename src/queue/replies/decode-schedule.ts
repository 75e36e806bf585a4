import { parseJson } from '../codec/stored-value.js';
import { JOB_OPTIONS, jobOptionsAt, type JobOption } from '../model/job-options.js';
import { JOB_STATUSES } from '../model/job.js';
import type { Recurrence, ScheduleRecord, ScheduleRun } from '../model/schedule.js';
import { SCHEDULE_PREFIX } from '../validation/names.js';
import { decodeDate, decodeKnownDate } from './decode-date.js';

/** Decodes a schedule as `lua/schedule/list.lua` gives it. */
export function decodeSchedule(queue: string, flat: readonly string[]): ScheduleRecord {
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    hash.set(flat[i]!, flat[i + 1]!);
  }
  const time = (field: string) => (hash.has(field) ? (decodeDate(hash.get(field)) ?? null) : null);
  const id = hash.get('id')!;
  const source = hash.get('source') === 'code' ? 'code' : 'call';
  const recurrence = parse(hash.get('recurrence')) as Recurrence | undefined;
  const isDeclared = source === 'code' && hash.get('declared') === '1';
  return {
    id,
    queue,
    name: hash.get('name') ?? queue,
    payload: parse(hash.get('payload')),
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

function parse(text: string | undefined): unknown {
  return parseJson(text).value;
}

/** Returns the options of the jobs, as the scripts and the worker read them; see encode-job-options.ts. */
function jobOptions(id: string, text: string | undefined): Pick<ScheduleRecord, 'options' | 'overlap'> {
  const script = objectOf(text);
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

function objectOf(text: unknown): Record<string, unknown> {
  const value = typeof text === 'string' ? parse(text) : undefined;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Returns the runs as `lua/lib/schedule/runs.lua` writes them. */
function runsOf(id: string, text = ''): ScheduleRun[] {
  return [...text.matchAll(/(\d{1,15})(\/\S+)?=([a-z]+)/g)].map(([, at, byHand, state]) => {
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
