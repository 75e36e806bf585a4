// The dashboard and the events of an app on a Redis Cluster, whose queues are on three masters.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue, type ClaimedJob } from 'nest-job-queue/core';
import type { FleetJobEvent } from 'nest-job-queue';
import { OverviewReader } from '#dashboard/live/overview-reader.js';
import { eventually, patiently, sleep } from '../../support/faults/wait.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { startDashboard } from '../dashboard-app.js';
import { openStream } from '../stream.js';

/** Their slots are on all three masters. */
const NAMES = ['a', 'b', 'c'];

/** The time until a change of a queue is seen, with a reading each 100 ms. A look without events comes after two seconds. */
const SOON_MS = 1_500;

let cluster: OwnCluster;
let others: JobQueue[];

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 10_000 });
  const client = cluster.connect();
  const eventExtras = { enqueued: true, results: true };
  others = NAMES.map((name) => new JobQueue(client, name, { eventExtras }));
  const owners = await Promise.all(NAMES.map(async (name) => cluster.ownerOf(channelOf(name))));
  expect(new Set(owners).size).toBe(3);
}, 60_000);

afterAll(() => others.forEach((queue) => queue.close()));

function startApp() {
  const queues = Object.fromEntries(NAMES.map((name) => [name, {}]));
  return startDashboard({
    jobs: { redis: cluster.connect(), worker: false, maintenance: false, queues },
    dashboard: { queues: NAMES, refreshMs: 100 },
  });
}

function channelOf(name: string): string {
  return `queue:{${name}}:events`;
}

/** Returns the ms until a condition holds. */
async function msUntil(what: string, holds: () => boolean): Promise<number> {
  const begun = performance.now();
  await eventually(holds, { what });
  return performance.now() - begun;
}

it('the page shows each change of a queue soon, and exactly', async () => {
  const app = await startApp();
  const stream = await openStream(app.url);
  await patiently(() => stream.messages().length > 0);
  const depths = (name: string) => stream.last().overview!.queues.find((queue) => queue.name === name)!.depths;
  const waits: number[] = [];
  for (const [i, queue] of others.entries()) {
    const { name } = queue;
    await queue.enqueueMany(Array.from({ length: 3 + i }, (_, payload) => ({ payload })));
    waits.push(await msUntil('jobs that wait', () => depths(name).pending === 3 + i));
    const [done, failed] = (await queue.claimMany(3)) as [ClaimedJob, ClaimedJob, ClaimedJob];
    waits.push(await msUntil('jobs that run', () => depths(name).processing === 3 && depths(name).pending === i));
    await queue.complete(done, 1);
    await queue.fail(failed, new Error('no'), { final: true });
    const ended = { pending: i, scheduled: 0, processing: 1, completed: 1, failed: 1, cancelled: 0 };
    waits.push(await msUntil('ended jobs', () => depths(name).processing === 1 && depths(name).failed === 1));
    expect(depths(name)).toMatchObject(ended);
  }
  expect(waits.filter((ms) => ms > SOON_MS)).toEqual([]);
  stream.stop();
});

it('a late reading is told from masters that are silent', async () => {
  const reader = (await startApp()).app.get(OverviewReader, { strict: false });
  const isHeard = reader.listen();
  await sleep(600);
  await reader.read();
  expect(isHeard(500)).toBe(true);
  await sleep(600);
  expect(isHeard(500)).toBe(false);
});

it('jobs.events has each event of all queues once, and soon', async () => {
  const app = await startApp();
  const seen: FleetJobEvent[] = [];
  const subscription = app.jobs.events.subscribe((event) => seen.push(event));
  const waits: number[] = [];
  for (const queue of others) {
    await queue.purge({ confirm: queue.name });
    const channel = channelOf(queue.name);
    const master = cluster.node(await cluster.ownerOf(channel));
    await eventually(async () => Number(((await master.pubsub('NUMSUB', channel)) as [string, number])[1]) > 0);
    seen.length = 0;
    const { id } = await queue.enqueue(1);
    waits.push(await msUntil('the event of an enqueue', () => seen.length > 0));
    await queue.complete((await queue.claim())!, 'done');
    waits.push(await msUntil('the event of an end', () => seen.length > 1));
    const of = { queue: queue.name, id, name: queue.name };
    expect(seen).toEqual([
      { ...of, status: 'enqueued' },
      { ...of, status: 'completed', attempt: 1, result: 'done' },
    ]);
  }
  expect(waits.filter((ms) => ms > SOON_MS)).toEqual([]);
  subscription.unsubscribe();
});
