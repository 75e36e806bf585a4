import { decodeDate } from './decode-date.js';
import type { Recurrence, ScheduleRecord } from '../model/schedule.js';

/** Decodes a schedule as `lua/schedule/list.lua` gives it. */
export function decodeSchedule(queue: string, flat: readonly string[]): ScheduleRecord {
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    hash.set(flat[i]!, flat[i + 1]!);
  }
  const time = (field: string) => (hash.has(field) ? (decodeDate(hash.get(field)) ?? null) : null);
  const source = hash.get('source') === 'code' ? 'code' : 'call';
  const recurrence = parse(hash.get('recurrence')) as Recurrence | undefined;
  const undeclared = source === 'code' && hash.get('declared') !== '1';
  return {
    id: hash.get('id')!,
    queue,
    name: hash.get('name') ?? queue,
    payload: parse(hash.get('payload')),
    ...recurrence,
    startAt: instant(recurrence?.startAt),
    endAt: instant(recurrence?.endAt),
    onMissed: hash.get('on_missed') === 'once' ? 'once' : 'skip',
    missedAfterMs: Number(hash.get('missed_after_ms') ?? 0),
    status: statusOf(hash, undeclared),
    source,
    nextAt: time('due_at_ms'),
    pausedAt: time('paused_at_ms'),
    endedAt: time('ended_at_ms'),
    lastTickAt: time('last_tick_at_ms'),
    lastJobId: hash.get('last_job') ?? null,
    ticks: Number(hash.get('ticks') ?? 0),
    skipped: Number(hash.get('skipped') ?? 0),
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
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
