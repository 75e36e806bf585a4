// Compares the history of each minute with the counters: both have the same totals, so no minute counts twice.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { inside } from '../../../test/support/queue/inside.js';

const COUNTERS = ['enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed'] as const;

/** The histories of all queues together. */
export interface Minutes {
  /** Minutes that have an entry. */
  closed: number;
  /** Sums of all entries, by counter. */
  told: Record<string, number>;
  /** The counters when the last minute was closed. */
  counters: Record<string, number>;
  /** Wait and run times, those of the open minute too. */
  waits: number;
  runs: number;
}

export const noMinutes = (): Minutes => ({ closed: 0, told: {}, counters: {}, waits: 0, runs: 0 });

/** Starts the history before the first count, so that it is complete. */
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

/** Returns the total count of `bucket:count,…`. */
function times(text: string): number {
  return text.split(',').reduce((sum, part) => sum + Number(part.split(':')[1] ?? 0), 0);
}

/** The part of a snapshot that the histories must match. */
interface Counted {
  minutes: Minutes;
  totals: Record<string, number>;
  sequence: number;
}

/**
 * Returns the differences between the histories and the counters. A worker that dies loses the times that it had not
 * sent. So there may be fewer times than claims, which the fence counter counts.
 *
 * @param forgot whether the server lost its data on the way
 */
export function misminuted({ minutes, totals, sequence }: Counted, forgot: boolean): string[] {
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
