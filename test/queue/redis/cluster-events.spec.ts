// Events on a Redis Cluster: a script counts the subscribers of its own master, so each channel is heard there.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { JobEvent } from '#queue/model/job-event.js';
import { inside } from '../../support/queue/inside.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

/** A wait without an event ends two seconds late, at its next look. */
const AT_ONCE_MS = 1_500;

let cluster: OwnCluster;
const open: JobQueue[] = [];

beforeAll(async () => {
  cluster = await startCluster({ replicas: true, nodeTimeoutMs: 5_000 });
}, 60_000);

afterAll(() => open.forEach((queue) => queue.close()));

it('awaited results come at once, on whichever master the queue is', async () => {
  const consumers = cluster.connect();
  const owners = new Set<unknown>();
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    const name = String.fromCharCode('a'.charCodeAt(0) + i); // known slots, on all three masters
    const queue = newQueue(name);
    const consumer = newQueue(name, consumers);
    owners.add(await cluster.ownerOf(await channelOf(queue)));
    const handle = await queue.enqueue(i);
    const result = handle.result();
    await listened(queue);
    const job = (await consumer.claim())!;
    const endedMs = performance.now();
    await consumer.complete(job, i);
    expect(await result).toBe(i);
    waits.push(performance.now() - endedMs);
    queue.close();
  }
  expect(owners.size).toBe(3);
  expect(waits.filter((ms) => ms > AT_ONCE_MS)).toEqual([]);
}, 60_000);

it('chunks of streams come at once and once, on whichever master the queue is', async () => {
  const [workers, readers] = [cluster.connect(), cluster.connect()];
  const waits: number[] = [];
  for (const name of ['i', 'j', 'k']) {
    const sent: number[] = [];
    const next = [gate(), gate(), gate()];
    const worker = await startWorker(newQueue(name, workers), async function* () {
      for (const [i, each] of next.entries()) {
        await each.promise;
        sent[i] = performance.now();
        yield i;
      }
    });
    const reader = newQueue(name, readers);
    const { id } = await reader.enqueue(1);
    const items = reader.stream(id)[Symbol.asyncIterator]();
    for (const [i, each] of next.entries()) {
      const item = items.next();
      if (i === 0) await listened(reader);
      each.open();
      expect(await item).toMatchObject({ value: { type: 'chunk', data: i } });
      waits.push(performance.now() - sent[i]!);
    }
    expect(await items.next()).toMatchObject({ value: { type: 'result' } });
    await worker.worker.stop();
  }
  expect(waits.filter((ms) => ms > AT_ONCE_MS)).toEqual([]);
}, 60_000);

it('progress, ends and an empty queue are reported at once and once, on whichever master the queue is', async () => {
  const workers = cluster.connect();
  const owners = new Set<unknown>();
  for (const name of ['f', 'g', 'h']) {
    const eventExtras = { enqueued: true, results: true, drained: true };
    const producer = new JobQueue(cluster.connect(), name, { eventExtras });
    const consumer = new JobQueue(workers, name, { eventExtras });
    open.push(producer, consumer);
    owners.add(await cluster.ownerOf(await channelOf(producer)));
    const { seen, arrivedMs, end } = await heard(newQueue(name));
    const causedMs: Record<string, number> = {};
    const worker = await startWorker(consumer, async (job) => {
      causedMs.progress = performance.now();
      await job.progress(0.5);
      causedMs.completed = performance.now();
      return 'done';
    });
    causedMs.enqueued = performance.now();
    const { id } = await producer.enqueue(1);
    await worker.event('completed');
    causedMs.drained = performance.now();
    await eventually(() => seen.some(({ status }) => status === 'drained'), {
      what: 'the event of an empty queue',
    });
    await worker.worker.stop(); // an event that comes twice has come by then
    const of = { id, name };
    expect(seen).toEqual([
      { ...of, status: 'enqueued' },
      { ...of, status: 'progress', attempt: 1, progress: 0.5 },
      { ...of, status: 'completed', attempt: 1, result: 'done' },
      { id: '', status: 'drained' },
    ]);
    const late = seen.filter(({ status }, i) => arrivedMs[i]! - causedMs[status]! > AT_ONCE_MS);
    expect(late).toEqual([]);
    end();
  }
  expect(owners.size).toBe(3);
}, 60_000);

it('events go on after their slot has moved to another master, once each', async () => {
  const queue = newQueue(uniqueQueueName());
  const { seen, end } = await heard(queue);
  const channel = await channelOf(queue);
  const from = await cluster.ownerOf(channel);
  const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
  await cluster.moveSlot(channel, to, async () => undefined);
  await eventually(async () => {
    await completed(queue);
    return seen.length > 0;
  });
  await listened(queue);
  seen.length = 0;
  const id = await completed(queue);
  await eventually(async () => seen.length > 0);
  expect(seen.map((event) => `${event.id} ${event.status}`)).toEqual([`${id} completed`]);
  end();
}, 60_000);

it('events go on after a failover, for a client that only listens', async () => {
  const name = uniqueQueueName();
  const producer = newQueue(name);
  const queue = newQueue(name);
  const { seen, end } = await heard(queue);
  const master = await cluster.ownerOf(await channelOf(queue));
  const replica = await cluster.replicaOf(master);
  await cluster.node(replica).cluster('FAILOVER');
  await eventually(async () => (await cluster.ownerOf(await channelOf(queue))) === replica);
  await eventually(async () => {
    await completed(producer);
    return seen.length > 0;
  });
  end();
}, 60_000);

function newQueue(name: string, client = cluster.connect()): JobQueue {
  const queue = new JobQueue(client, name);
  open.push(queue);
  return queue;
}

async function channelOf(queue: JobQueue): Promise<string> {
  return (await inside(queue).scripts()).keys.events;
}

async function completed(queue: JobQueue): Promise<string> {
  await queue.enqueue(1);
  const job = (await queue.claim())!;
  await queue.complete(job, 1);
  return job.id;
}

/** Waits until the master of the queue's slot counts a subscriber. */
async function listened(queue: JobQueue): Promise<void> {
  const channel = await channelOf(queue);
  const master = cluster.node(await cluster.ownerOf(channel));
  await eventually(async () => Number(((await master.pubsub('NUMSUB', channel)) as [string, number])[1]) > 0);
}

/** Listens to a queue. `arrivedMs` has the time of each event. */
async function heard(queue: JobQueue) {
  const seen: JobEvent[] = [];
  const arrivedMs: number[] = [];
  const end = await queue.store.subscribe(await queue.calls(), (event) => {
    arrivedMs.push(performance.now());
    seen.push(event);
  });
  await listened(queue);
  return { seen, arrivedMs, end };
}
