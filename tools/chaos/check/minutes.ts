// The history of each minute against the counters: what it tells is what the counters gained, and no minute is told twice.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { inside } from '../../../test/support/queue/inside.js';
import type { Snapshot } from './snapshot.js';

const COUNTERS = ['enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed'] as const;

/** What the histories of all queues say together. */
export interface Minutes {
  /** Minutes that have an entry. */
  closed: number;
  /** What all entries say, by counter. */
  told: Record<string, number>;
  /** What the counters were when the last minute was closed. */
  counters: Record<string, number>;
  /** Wait and run times, those of the open minute too. */
  waits: number;
  runs: number;
}

export const noMinutes = (): Minutes => ({ closed: 0, told: {}, counters: {}, waits: 0, runs: 0 });

/** Begins the history where nothing was counted yet, so that all that comes is told. */
export async function beginMinutes(queues: readonly JobQueue[]): Promise<void> {
  const nothing = { pending: 0, processing: 0, oldestPendingAgeMs: 0, version: '', gapMs: Number.MAX_SAFE_INTEGER };
  await Promise.all(queues.map((queue) => queue.exec((calls) => calls.history.closeMinute(nothing))));
}

export async function addMinutes(minutes: Minutes, redis: Redis, queue: JobQueue): Promise<void> {
  const { historyOpen, history } = (await inside(queue).scripts()).keys;
  const open = await redis.hgetall(historyOpen);
  for (const [field, value] of Object.entries(open)) {
    if (/^w\d+$/.test(field)) minutes.waits += Number(value);
    if (/^r\d+$/.test(field)) minutes.runs += Number(value);
  }
  add(minutes.counters, (name) => Number(open[name] ?? 0));
  for (const [, fields] of await redis.xrange(history, '-', '+')) {
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
    const gains = field('n').split(',').map(Number);
    add(minutes.told, (_, i) => gains[i]!);
    minutes.waits += times(field('w'));
    minutes.runs += times(field('r'));
    minutes.closed++;
  }
}

function add(sums: Record<string, number>, of: (name: string, i: number) => number): void {
  COUNTERS.forEach((name, i) => (sums[name] = (sums[name] ?? 0) + of(name, i)));
}

/** How many times `bucket:count,…` counts. */
function times(text: string): number {
  return text.split(',').reduce((sum, part) => sum + Number(part.split(':')[1] ?? 0), 0);
}

/**
 * What does not add up. A worker that dies takes times along that it had not sent, so they may be fewer than the claims, each of
 * which took a number of the counter behind the fences.
 *
 * @param forgot whether the server lost its data on the way
 */
export function misminuted({ minutes, totals, sequence }: Snapshot, forgot: boolean): string[] {
  const { told, counters, runs, waits } = minutes;
  const wrong = COUNTERS.flatMap((name) => {
    const [said, counted, total] = [told[name] ?? 0, counters[name] ?? 0, totals[name] ?? 0];
    return [
      ...(said > counted || (said < counted && !forgot)
        ? [`history: the minutes tell of ${said} ${name}, but the counter gained ${counted}`]
        : []),
      ...(counted > total ? [`history: it saw ${counted} ${name}, but there were ${total}`] : []),
    ];
  });
  for (const [kind, count] of Object.entries({ run: runs, wait: waits })) {
    if (count > sequence && !forgot)
      wrong.push(`history: it has ${count} ${kind} times of at most ${sequence} claims`);
  }
  return wrong;
}
