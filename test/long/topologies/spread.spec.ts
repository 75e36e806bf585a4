// A queue with shards on three masters. One of them is stopped, and the others go on.
import { beforeAll, expect, it } from '@jest/globals';
import slotOf from 'cluster-key-slot';
import { JobHandler, JobQueueService, OnTopic, type Job, type JobHandle, type JobQueue } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import type { DynamicModule } from '@nestjs/common';
import { JobQueueDashboardModule, type DashboardRequest } from 'nest-job-queue/dashboard';
import type { OverviewReading } from '#dashboard/live/overview-reader.js';
import { SnapshotFeed } from '#dashboard/live/snapshot-feed.js';
import { visibleOverview } from '#dashboard/live/visible-overview.js';
import { Permissions } from '#dashboard/security/permissions.js';
import type { OverviewView } from '#dashboard/views/views.js';
import { EXIT } from '#cli/exit-codes.js';
import { cli } from '../../cli/run-cli.js';
import { startApp } from '../../nest/app.js';
import { freeze, type OwnRedis } from '../../support/redis/own-redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';

const SHARDS = 8;

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 600_000 }); // who is frozen is not failed
}, 90_000);

/** Starts an app with a queue of eight shards. Its handler notes the id of each job. */
async function startSpread(concurrency: number, imports: DynamicModule[] = []) {
  const name = uniqueQueueName();
  const ran: string[] = [];

  @JobHandler(name, { spread: SHARDS, concurrency })
  class Handler {
    handle(job: Job) {
      ran.push(job.id);
      return job.payload;
    }
  }
  const redis = cluster.connect();
  const app = await startApp({ jobs: { redis }, providers: [Handler], imports });
  const jobs = app.get(JobQueueService);
  const shards = jobs.shards(name);
  const owners = shards.map(ownerOf);
  const isOn = (master: OwnRedis) => (shard: JobQueue) => owners[shards.indexOf(shard)] === master;
  return { app, name, jobs, shards, owners, isOn, ran };
}

/** Returns the master of a shard. */
function ownerOf({ name }: JobQueue): OwnRedis {
  return cluster.nodes[Math.floor((slotOf(name) * 3) / 16_384)]!;
}

/** Counts the calls of scripts on all masters until now. */
async function scriptsSent(): Promise<number> {
  const infos = await Promise.all(cluster.nodes.map((node) => connect({}, node.url).info('commandstats')));
  return infos.reduce((sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0);
}

function add(jobs: JobQueueService, name: string, count: number): Promise<JobHandle[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => jobs.enqueue(name, i)));
}

it('takes publications and follow-ups of batches on all masters', async () => {
  const { name, jobs, ran } = await startSpread(10);
  const topic = uniqueQueueName();
  const got: string[] = [];

  class Stock {
    @OnTopic(topic, { subscription: 'stock', spread: SHARDS })
    update({ queue }: Job) {
      got.push(queue);
    }
  }
  await startApp({ jobs: { redis: cluster.connect() }, providers: [Stock] });
  await Promise.all(Array.from({ length: 40 }, (_, i) => jobs.publish(topic, i, { group: `order-${i}` })));
  await eventually(() => got.length === 40);
  expect(new Set(got.map((queue) => ownerOf({ name: queue } as JobQueue))).size).toBe(3);
  const batches = Array.from({ length: 8 }, () => jobs.batch({ queue: `${topic}-home`, finally: { name } }));
  await Promise.all(
    batches.map(async (batch) => {
      await batch.add(name, 1);
      await batch.seal();
    }),
  );
  await eventually(() => ran.length === 16);
}, 60_000);

it('keeps batches of its own on all masters, each with members and follow-ups on all of them', async () => {
  const name = uniqueQueueName();
  const fired: string[] = [];

  @JobHandler(name, { spread: SHARDS })
  class Handler {
    async handle(job: Job<string | null>) {
      if (job.payload === 'follow-up') fired.push((await job.batch!.status()).id);
      else if (job.payload === 'adds') await job.batch!.add(name, null, { id: `added-by-${job.id}` });
    }
  }
  const jobs = (await startApp({ jobs: { redis: cluster.connect() }, providers: [Handler] })).get(JobQueueService);
  const followUp = { name, payload: 'follow-up' };
  const batches = Array.from({ length: 16 }, (_, i) =>
    jobs.batch({
      then: { ...followUp, group: `g${i}` },
      finally: followUp,
      ...(i % 2 === 0 && { id: `month-${i}` }),
    }),
  );
  expect(new Set(batches.map(({ queue }) => ownerOf({ name: queue } as JobQueue))).size).toBe(3);
  await Promise.all(
    batches.map(async (batch) => {
      const members = Array.from({ length: 8 }, (_, i) => ({ payload: null, group: `m${i}` }));
      await batch.addMany(name, members);
      await batch.add(name, 'adds');
      await batch.seal();
    }),
  );
  await eventually(() => fired.length === 32, { timeoutMs: 30_000, what: 'the follow-ups' });
  expect(fired.toSorted()).toEqual(batches.flatMap(({ id }) => [id, id]).toSorted());
  const records = await Promise.all(batches.map(({ id }) => jobs.findBatch(name, id).status()));
  expect(records.map(({ completed, total }) => [completed, total])).toEqual(batches.map(() => [10, 10]));
}, 60_000);

it('sends few commands while it has jobs that are due much later', async () => {
  const { name, jobs } = await startSpread(10);
  await Promise.all(Array.from({ length: 16 }, () => jobs.enqueue(name, null, { delayMs: 3_600_000 })));
  await sleep(1_000);
  const before = await scriptsSent();
  await sleep(3_000);
  expect((await scriptsSent()) - before).toBeLessThan(300); // of all apps of this file
}, 60_000);

it('has its shards on all masters, and runs the jobs of each', async () => {
  const { name, jobs, owners } = await startSpread(10);
  const counts = cluster.nodes.map((node) => owners.filter((owner) => owner === node).length);
  expect(counts.toSorted((a, b) => a - b)).toEqual([2, 3, 3]);
  const handles = await add(jobs, name, 160);
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map((_, i) => i));
});

it('runs the jobs of the other masters with all of its slots, while one master is stopped', async () => {
  const { name, jobs, shards, isOn, ran } = await startSpread(2);
  jobs.pauseWorker(name);
  const handles = await add(jobs, name, 80);
  const away = cluster.nodes[0]!;
  const onAway = shards.filter(isOn(away)).map((shard) => shard.name);
  const [there, here] = [true, false].map((is) => handles.filter(({ queue }) => onAway.includes(queue) === is));
  await freeze(away, async () => {
    jobs.resumeWorker(name);
    await eventually(() => ran.length === here!.length, { timeoutMs: 4_000, what: 'the jobs of the others' });
    expect(new Set(ran)).toEqual(new Set(here!.map(({ id }) => id)));
  });
  await Promise.all(there!.map((handle) => handle.result()));
  expect(ran.toSorted()).toEqual(handles.map(({ id }) => id).toSorted());
});

it('gives jobs without a key to the other masters, while one master is stopped', async () => {
  const { name, jobs, shards, isOn } = await startSpread(10);
  await (await jobs.enqueue(name, 'before')).result();
  const away = cluster.nodes[0]!;
  const onAway = shards.filter(isOn(away)).map((shard) => shard.name);
  let late: Promise<PromiseSettledResult<JobHandle>[]>;
  await freeze(away, async () => {
    late = Promise.allSettled(Array.from({ length: SHARDS }, (_, i) => jobs.enqueue(name, i)));
    await new Promise((resolve) => setTimeout(resolve, 300)); // they owe a reply by then
    const handles = await add(jobs, name, 40);
    expect(handles.filter(({ queue }) => onAway.includes(queue))).toEqual([]);
    await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 3_000 })));
  });
  const settled = await late!;
  expect(settled).toHaveLength(SHARDS);
  await eventually(async () => {
    const { queue } = await jobs.enqueue(name, 'after');
    return onAway.includes(queue);
  });
});

it('gives batches and members without a key to the other masters, while one master is stopped', async () => {
  const { name, jobs, shards, isOn } = await startSpread(10);
  await (await jobs.enqueue(name, 'before')).result();
  const open = jobs.batch({ queue: name, id: 'open' });
  await open.add(name, 'before');
  const away = cluster.nodes.find((node) => node !== ownerOf({ name: open.queue } as JobQueue))!;
  const onAway = shards.filter(isOn(away)).map((shard) => shard.name);
  let late: Promise<unknown>;
  await freeze(away, async () => {
    late = Promise.allSettled(Array.from({ length: SHARDS }, (_, i) => open.add(name, i)));
    await sleep(300); // they owe a reply by then
    const members = await Promise.all(Array.from({ length: 24 }, (_, i) => open.add(name, i)));
    expect(members.filter(({ queue }) => onAway.includes(queue))).toEqual([]);
  });
  await late!;
  await eventually(async () => onAway.includes((await open.add(name, 'after')).queue));
  await freeze(away, async () => {
    late = Promise.allSettled(Array.from({ length: SHARDS }, () => jobs.batch({ queue: name }).seal()));
    await sleep(300);
    const homes = Array.from({ length: 24 }, () => jobs.batch({ queue: name }).queue);
    expect(homes.filter((queue) => onAway.includes(queue))).toEqual([]);
  });
  await late!;
}, 60_000);

it('stays healthy while one master is stopped, and names a shard that is away', async () => {
  const { app, name, jobs, shards, isOn } = await startSpread(10);
  await Promise.all((await add(jobs, name, 8)).map((handle) => handle.result()));
  const away = cluster.nodes[0]!;
  const health = app.get(JobQueueHealthIndicator);
  await freeze(away, async () => {
    const { jobQueue } = await health.check('jobQueue', { otherQueues: false, timeoutMs: 2_000 });
    const { verdict } = jobQueue.queues![name]!;
    const summary = /^(?:shard|\d of 8 shards, such as) "(.*)": unreadable: /.exec(verdict.summary);
    expect(shards.filter(isOn(away)).map((shard) => shard.name)).toContain(summary![1]);
    expect([jobQueue.status, verdict.severity]).toEqual(['up', 'warning']);
  });
});

it('is one row of the dashboard, which names a shard whose master is stopped', async () => {
  const { app, name, jobs, shards, isOn } = await startSpread(10, [
    JobQueueDashboardModule.forRoot({ allowRemote: true, otherQueues: false }),
  ]);
  await Promise.all((await add(jobs, name, 8)).map((handle) => handle.result()));
  const feed = app.get(SnapshotFeed, { strict: false });
  const [away] = cluster.nodes as [OwnRedis];
  const onAway = shards.filter(isOn(away)).map((shard) => shard.name);
  await freeze(away, async () => {
    let overview: OverviewReading | null = null;
    await eventually(async () => ({ overview } = await feed.current()).overview !== null, { timeoutMs: 10_000 });
    const { queues, shards: all } = await visibleOverview(
      app.get(Permissions, { strict: false }),
      { headers: {} } as DashboardRequest,
      overview!,
    );
    const [row] = queues as [OverviewView['queues'][number]];
    expect(queues).toHaveLength(1);
    expect(all).toHaveLength(SHARDS);
    expect(all.filter((shard) => !('depths' in shard)).map((shard) => shard.name)).toEqual(onAway);
    expect(row.verdict).toMatchObject({ severity: 'warning', state: 'unreadable', queue: onAway[0] });
    expect(row.totals['completed']).toBeLessThanOrEqual(8);
  });
});

it('is paused from the command line on the other masters, which exits with 10 and names what it did not reach', async () => {
  const { name, jobs, shards, isOn } = await startSpread(10);
  await add(jobs, name, SHARDS);
  const away = cluster.nodes[0]!;
  await shards.find((shard) => !isOn(away)(shard))!.enqueue(1, { name, id: 'own', delayMs: 3_600_000 });
  const [there, here] = [true, false].map((is) => shards.filter((shard) => isOn(away)(shard) === is));
  await freeze(away, async () => {
    const env = { REDIS_URL: cluster.nodes[1]!.url };
    const { code, stdout, stderr } = await cli(['pause', name, '--cluster'], env);
    expect({ code, stdout, stderr }).toEqual({
      stderr: expect.stringContaining('Not'),
      code: EXIT.warning,
      stdout: 'paused\n',
    });
    expect(stderr).toContain(`Not reached: ${there!.map((shard) => shard.name).join(', ')} (`);
    const stats = await Promise.all(here!.map((shard) => shard.stats()));
    expect(stats.every(({ pausedAt }) => pausedAt !== null)).toBe(true);
    const found = await cli(['list', name, '--search', 'state:scheduled', '--cluster', '--json'], env);
    expect([found.code, JSON.parse(found.stdout)]).toEqual([
      EXIT.warning,
      [expect.objectContaining({ id: 'own' })],
    ]);
    expect(await cli(['promote', name, 'own', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stderr: '' });
  });
}, 60_000);

/** Starts an app whose queue of eight shards has a limit. Its handler notes each job, and the most jobs at once. */
async function startLimited(maxRunning: number, concurrency: number) {
  const name = uniqueQueueName();
  const limit = `partner-${name}`;
  const [ran, running] = [new Set<string>(), new Set<string>()];
  const seen = { mostAtOnce: 0 };

  @JobHandler(name, { spread: SHARDS, concurrency, limits: [limit] })
  class Handler {
    async handle({ id }: Job) {
      running.add(id);
      seen.mostAtOnce = Math.max(seen.mostAtOnce, running.size);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running.delete(id);
      ran.add(id);
    }
  }
  const options = { redis: cluster.connect(), limits: { [limit]: { maxRunning } } };
  const jobs = (await startApp({ jobs: options, providers: [Handler] })).get(JobQueueService);
  const holder = await cluster.ownerOf(`queue:limit:{${limit}}`);
  const away = cluster.nodes.find((node) => node !== holder)!;
  const handles = await add(jobs, name, 240);
  await eventually(() => ran.size > 20, { what: 'the first jobs' });
  const onAway = jobs.shards(name).filter((shard) => ownerOf(shard) === away);
  const others = handles.filter(({ queue }) => onAway.every((shard) => shard.name !== queue));
  return { ran, seen, away, handles, others };
}

it('never exceeds a named limit while one master is stopped and comes back', async () => {
  const { seen, away, handles } = await startLimited(3, 10);
  await freeze(away, () => sleep(1_000)); // longer than a claim waits before its slots go to the others
  await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 60_000 })));
  expect(seen.mostAtOnce).toBe(3);
}, 120_000);

it('runs the jobs of the other masters under a named limit that has more permits than the claims of the stopped one', async () => {
  const { away, handles, others, ran } = await startLimited(20, 4); // at most three shards hold four permits each
  await freeze(away, async () => {
    await eventually(() => others.every(({ id }) => ran.has(id)), { what: 'jobs of the others' });
  });
  await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 60_000 })));
}, 120_000);

it('starts while one master is stopped', async () => {
  const away = cluster.nodes[0]!;
  await freeze(away, async () => {
    const { name, jobs, shards, isOn } = await startSpread(10);
    const onAway = shards.filter(isOn(away)).map((shard) => shard.name);
    // A new client of a Cluster may ask the stopped master first.
    const isConnected = () =>
      jobs.enqueue(name, 'first').then(
        () => true,
        () => false,
      );
    await eventually(isConnected, { timeoutMs: 40_000, what: 'an enqueue to another master' });
    await Promise.allSettled(Array.from({ length: SHARDS }, (_, i) => jobs.enqueue(name, i)));
    const handles = await add(jobs, name, 40);
    expect(handles.filter(({ queue }) => onAway.includes(queue))).toEqual([]);
    await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 40_000 })));
  });
}, 90_000);
