import type { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { backdate, makeDue, writeDeploy, writeHistory, type Minute } from '../seeds/hour-of-history.js';
import { failureOf, type Order } from './incident-handlers.js';
import { ALL_JOBS, FOREIGN_SCHEDULE, INCIDENT_QUEUES, type IncidentQueue } from './incident-queues.js';

const MINUTE_MS = 60_000;
const SLICE = 500;
/** The minutes since the incident began. */
const SINCE = 25;
/** The version of the app, which was deployed just before. */
export const VERSION = '2.4.0';
const CUSTOMERS = ['acme', 'globex', 'initech', 'umbrella'];

/** Writes the last hour of each queue and the jobs that it left, before any worker runs. */
export async function writeBacklog(redis: Redis, jobs: number, onQueue: (name: string) => void): Promise<void> {
  const share = (count = 0) => Math.ceil((count * jobs) / ALL_JOBS);
  for (const each of INCIDENT_QUEUES) {
    onQueue(each.name);
    const queue = new JobQueue(redis, each.name);
    await writeDeploy(queue, VERSION, (SINCE + 1) * MINUTE_MS);
    await writeHistory(queue, (ago) => minuteOf(each, share(each.waiting), ago));
    await bury(queue, share(each.dead));
    await enqueueAll(queue, share(each.scheduled), { delayMs: 60 * MINUTE_MS });
    const waiting = await enqueueAll(queue, share(each.waiting));
    await backdate(queue, waiting, (each.oldestMinutes ?? 0) * MINUTE_MS);
  }
  onQueue(FOREIGN_SCHEDULE);
  await missRuns(new JobQueue(redis, FOREIGN_SCHEDULE));
}

/** Leaves a schedule whose runs nobody makes. */
async function missRuns(queue: JobQueue): Promise<void> {
  await queue.schedules.upsert('exchange-rates', { everyMs: 5 * MINUTE_MS });
  await makeDue(queue, 'exchange-rates', SINCE * MINUTE_MS);
}

/** Returns the job of a number. One tenant has nearly all of them. */
export function orderOf(order: number): Order {
  return { order, customer: order % 100 < 97 ? CUSTOMERS[0]! : CUSTOMERS[order % CUSTOMERS.length]! };
}

/** Enqueues jobs. Returns them, the oldest first. */
async function enqueueAll(queue: JobQueue, count: number, options: { delayMs?: number } = {}) {
  const all: { id: string }[] = [];
  for (let sent = 0; sent < count; sent += SLICE) {
    const orders = Array.from({ length: Math.min(SLICE, count - sent) }, (_, i) => orderOf(sent + i));
    const isGrouped = queue.name === 'import';
    const enqueued = await queue.enqueueMany(
      orders.map((payload) => ({ payload, ...options, ...(isGrouped && { group: payload.customer }) })),
    );
    all.push(...enqueued);
  }
  return all;
}

/** Leaves dead letters of several kinds. */
async function bury(queue: JobQueue, count: number): Promise<void> {
  await enqueueAll(queue, count);
  for (let dead = 0; dead < count;) {
    const claimed = await queue.claimMany(SLICE);
    if (claimed.length === 0)
      throw new Error(`${queue.name}: expected ${count - dead} more jobs to claim, found none`);
    await Promise.all(
      claimed.map((job, i) =>
        queue.fail(job, failureOf(queue.name, dead + i) ?? new Error('Timeout after 5000 ms'), { final: true }),
      ),
    );
    dead += claimed.length;
  }
}

function minuteOf(queue: IncidentQueue, waiting: number, ago: number): Minute {
  const { perMinute, failing = 0, runMs, oldestMinutes = 0 } = queue;
  const enqueued = Math.round(perMinute * (1 + 0.2 * Math.sin(ago / 5)));
  const isLate = ago < oldestMinutes;
  const failed = ago > SINCE ? 0 : Math.round(enqueued * failing);
  return {
    enqueued,
    completed: isLate && failing === 0 ? 0 : enqueued - failed,
    failed,
    retried: failed,
    pending: isLate ? Math.round(waiting * (1 - ago / oldestMinutes)) : 0,
    processing: perMinute > 0 ? 1 : 0,
    oldestMs: isLate ? (oldestMinutes - ago) * MINUTE_MS : 0,
    waitMs: 9,
    runMs,
  };
}
