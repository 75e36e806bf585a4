import type { Recurrence, ScheduleRecord } from '../model/schedule.js';

/** Decodes a schedule as `lua/schedule/list.lua` gives it. */
export function decodeSchedule(queue: string, flat: readonly string[]): ScheduleRecord {
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    hash.set(flat[i]!, flat[i + 1]!);
  }
  const time = (field: string) => (hash.has(field) ? new Date(Number(hash.get(field))) : null);
  const source = hash.get('source') === 'code' ? 'code' : 'call';
  const undeclared = source === 'code' && hash.get('declared') !== '1';
  return {
    id: hash.get('id')!,
    queue,
    name: hash.get('name') ?? queue,
    payload: parse(hash.get('payload')),
    ...(parse(hash.get('recurrence')) as Recurrence | undefined),
    onMissed: hash.get('on_missed') === 'once' ? 'once' : 'skip',
    missedAfterMs: Number(hash.get('missed_after_ms') ?? 0),
    status: hash.has('paused_at_ms') ? 'paused' : undeclared ? 'undeclared' : 'active',
    source,
    nextAt: time('due_at_ms'),
    pausedAt: time('paused_at_ms'),
    lastTickAt: time('last_tick_at_ms'),
    lastJobId: hash.get('last_job') ?? null,
    ticks: Number(hash.get('ticks') ?? 0),
    skipped: Number(hash.get('skipped') ?? 0),
    createdAt: time('created_at_ms') ?? new Date(0),
    updatedAt: time('updated_at_ms') ?? new Date(0),
  };
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
