// Valkey 9 moves whole ranges of slots from one master to another. Meanwhile jobs are enqueued, run and end in them.
import { afterAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { programOf, SERVERS } from '../../../scripts/redis/debian-servers.mjs';
import { eventually } from '../../support/faults/wait.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import type { OwnRedis } from '../../support/redis/own-redis.js';
import { startWorker } from '../../support/worker/workers.js';

/** More queues than a worker waits for by itself, on all three masters. */
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** The jobs for tomorrow in each queue, so that a move has something to carry. */
const LATER = 5_000;

const BULK = 50;

const open: JobQueue[] = [];

afterAll(() => open.forEach((queue) => queue.close()));

const valkey = SERVERS.find(({ product, major }) => product === 'Valkey' && major === '9')!;
const binary = await programOf(valkey).catch((error: Error) => {
  console.warn(`Skipped, because Valkey 9 cannot be had: ${error.message}`);
  return undefined;
});

(binary === undefined ? it.skip : it)(
  'loses and repeats no job while the slots of a master move away, and back',
  async () => {
    const cluster = await startCluster({ nodeTimeoutMs: 10_000, binary });
    const client = cluster.connect();
    const queues = NAMES.map((name) => new JobQueue(client, name));
    open.push(...queues);
    const [from, to] = cluster.nodes as [OwnRedis, OwnRedis];
    const owners = await Promise.all(queues.map(async (queue) => cluster.ownerOf(`queue:{${queue.name}}`)));
    expect(owners).toContain(from);
    const runs = new Map<string, number>();
    const handle = ({ id }: Job) => void runs.set(id, (runs.get(id) ?? 0) + 1);
    const served = queues.map((queue) => ({ queue, concurrency: 50, handlers: { [queue.name]: handle } }));
    await startWorker(served, undefined, { sweepIntervalMs: 1_000 });
    const later = Array.from({ length: LATER }, (_, payload) => ({ payload, delayMs: 86_400_000 }));
    await Promise.all(queues.map((queue) => queue.enqueueMany(later)));

    const load = new Load(queues.map(({ name }) => new JobQueue(cluster.connect(), name)));
    await load.more();
    const slots = await slotsOf(cluster, from);
    await move(cluster, slots, from, to);
    await load.more();
    await move(cluster, slots, to, from);
    await load.more();
    const ids = await load.stop();

    await eventually(() => runs.size === ids.length, { what: 'a run of each job', timeoutMs: 60_000 });
    expect(ids.filter((id) => runs.get(id) !== 1)).toEqual([]);
    for (const queue of queues) {
      await eventually(async () => (await queue.stats()).processing === 0);
      expect((await queue.doctor()).findings).toEqual([]);
      expect(await queue.stats()).toMatchObject({ scheduled: LATER, pending: 0 });
    }
  },
  180_000,
);

/** Producers that enqueue without a pause. */
class Load {
  private readonly ids: string[] = [];
  private readonly calls: number[];
  private isOver = false;
  private readonly running: Promise<void[]>;

  constructor(producers: readonly JobQueue[]) {
    open.push(...producers);
    this.calls = producers.map(() => 0);
    this.running = Promise.all(producers.map((producer, i) => this.run(producer, i)));
  }

  /** Resolves when each producer has enqueued more. */
  async more(): Promise<void> {
    const before = [...this.calls];
    await eventually(() => this.calls.every((count, i) => count >= before[i]! + 20), { what: 'more jobs' });
  }

  /** Ends all producers. Returns the ids of their jobs. */
  async stop(): Promise<string[]> {
    this.isOver = true;
    await this.running;
    return this.ids;
  }

  private async run(producer: JobQueue, i: number): Promise<void> {
    while (!this.isOver) {
      const handles = await producer.enqueueMany(Array.from({ length: BULK }, (_, payload) => ({ payload })));
      this.ids.push(...handles.map(({ id }) => id));
      this.calls[i]!++;
    }
  }
}

/** Returns the slots of a master but one. Without slots it would become a replica, to which no slot can move. */
async function slotsOf(cluster: OwnCluster, server: OwnRedis): Promise<[number, number]> {
  const lines = String(await cluster.node(server).cluster('NODES')).split('\n');
  const [first, last] = lines
    .find((line) => line.includes('myself'))!
    .split(' ')[8]!
    .split('-')
    .map(Number);
  return [first!, last! - 1];
}

/** Moves slots by the server itself, and waits until it says that they have moved. */
async function move(
  cluster: OwnCluster,
  [first, last]: [number, number],
  from: OwnRedis,
  to: OwnRedis,
): Promise<void> {
  const source = cluster.node(from);
  const target = String(await cluster.node(to).cluster('MYID'));
  await source.call('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', first, last, 'NODE', target);
  const state = async () => {
    const [newest = []] = (await source.call('CLUSTER', 'GETSLOTMIGRATIONS')) as unknown[][];
    const valueOf = (field: string) => String(newest[newest.indexOf(field) + 1]);
    if (valueOf('state') === 'failed') throw new Error(`the slots did not move: ${valueOf('message')}`);
    return valueOf('state');
  };
  await eventually(async () => (await state()) === 'success', { what: 'the move of the slots', timeoutMs: 60_000 });
}
