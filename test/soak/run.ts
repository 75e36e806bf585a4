// One run: a fleet at work, faults, the end of all work, and the verdict.
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedisServer, type RunningRedis } from '../../scripts/redis-server.mjs';
import { JobQueue } from '../../src/queue/job-queue.js';
import { eventually } from '../support/wait.js';
import { check, type Verdict } from './check.js';
import { Facts } from './facts.js';
import { FAULTS, type Scene } from './faults.js';
import { Fleet } from './fleet.js';
import { HistoryWriter, monotonicMs, readHistory } from './history.js';
import { FAULT_KINDS, plan, type FaultKind } from './plan.js';
import { Resources, type Growth } from './resources.js';
import { takeSnapshot } from './snapshot.js';
import { recoveries, type Recovery } from './stalls.js';
import { queueOptions } from './workload.js';

const DRAIN_MS = 60_000;
/** A worker that has no answer of Redis for so long after a fault has ended will have none. */
const WEDGED_MS = 30_000;
const SAMPLE_MS = 2_000;

export interface RunOptions {
  seed: number;
  minutes: number;
  /** A server of the user's; without it one is started, and may be harmed. */
  redisUrl: string | undefined;
  /** A load instead of faults: so many jobs. */
  jobs: number;
  /** `memory`: the server forgets all in the middle of the run. */
  persistence: 'aof' | 'memory';
  say: (line: string) => void;
}

export interface Outcome extends Verdict {
  seed: number;
  seconds: number;
  folder: string;
  recoveries: Recovery[];
  growth: Growth[];
}

export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, say } = options;
  const load = options.jobs > 0;
  const folder = mkdtempSync(join(tmpdir(), `soak-${seed}-`));
  say(`seed ${seed}; the histories are in ${folder}`);
  const server = options.redisUrl === undefined ? await startServer(options) : undefined;
  const redisUrl = options.redisUrl ?? server!.url;
  const admin = new Redis(redisUrl, { maxRetriesPerRequest: null, retryStrategy: () => 100 });
  admin.on('error', () => undefined);
  const name = `soak-${seed}-${process.pid}`;
  const queues = [name, `${name}-fifo`].map((each) => new JobQueue(admin, each, queueOptions(load)));
  const resources = new Resources();
  const common = load
    ? { concurrency: 100, batch: 250, rate: Infinity, backlog: 5_000, jobs: Math.ceil(options.jobs / 2), load }
    : { concurrency: 10, batch: 20, rate: 400, backlog: 1_000, jobs: 0, load };
  const fleet = new Fleet({ redisUrl, folder, queue: name, seed, proxied: !load, common }, resources);
  const history = new HistoryWriter(join(folder, 'runner.jsonl'), 0, 'runner');
  const scene: Scene = { fleet, admin, server, queue: queues[0]!, history };
  const begin = performance.now();
  const sampling = setInterval(() => void sampleServer(scene, resources), SAMPLE_MS);
  try {
    await startFleet(fleet, load);
    const workBegan = performance.now();
    const backMs = load
      ? await untilAllAreEnqueued(scene)
      : options.persistence === 'memory'
        ? await forget(scene)
        : await harm(scene, options);
    const workEnded = performance.now();
    await Promise.all(fleet.producers.map((slot) => fleet.stop(slot)));
    await Promise.all(fleet.slots.filter(({ role }) => role === 'operator').map((slot) => fleet.stop(slot)));
    const stuck = await drain(queues, admin);
    const endMs = monotonicMs();
    const seconds = (performance.now() - begin) / 1_000;
    await Promise.all(fleet.workers.map((slot) => fleet.stop(slot)));
    await history.written();
    say('all work has ended; checking');
    const facts = await readAll(folder);
    const verdict = check(facts, await takeSnapshot(admin, queues));
    verdict.violations.push(...stuck, ...backMs.flatMap(wedged), ...fleet.leaks.map((leak) => `leaked by ${leak}`));
    const processes = fleet.slots.map((slot) => slot.name);
    const growth = resources.growth(workBegan, workEnded, processes);
    return { ...verdict, seed, seconds, folder, recoveries: recoveries(facts, endMs, backMs), growth };
  } finally {
    clearInterval(sampling);
    await fleet.close();
    history.close();
    if (!server) await leaveNothing(queues, admin);
    admin.disconnect();
    await server?.stop();
  }
}

async function startServer({ persistence, jobs }: RunOptions): Promise<RunningRedis> {
  const durable = persistence === 'aof' && jobs === 0;
  return startRedisServer({ quiet: true, args: durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [] });
}

async function startFleet(fleet: Fleet, load: boolean): Promise<void> {
  for (let i = 1; i <= 4; i++) await fleet.add('worker', `worker-${i}`);
  if (!load) await fleet.add('fifo-worker', 'fifo-worker');
  await fleet.add('operator', 'operator');
  await fleet.add('producer', 'producer-1');
  await fleet.add(load ? 'producer' : 'fifo-producer', load ? 'producer-2' : 'fifo-producer');
}

/** Fault after fault, each when all workers have recovered from the last. Answers how long that took them. */
async function harm(scene: Scene, { seed, minutes, say }: RunOptions): Promise<number[]> {
  const end = performance.now() + minutes * 60_000;
  const own = scene.server !== undefined;
  const kinds = Object.values(FAULT_KINDS).filter((kind) => own || !kind.own).length;
  const backMs: number[] = [];
  await sleep(2_000);
  for (const planned of plan(seed, own)) {
    scene.history.add(['fault', planned.kind]);
    await scene.history.written();
    await FAULTS[planned.kind](scene, planned);
    scene.history.add(['healed', planned.kind]);
    backMs.push(await recovered(scene.fleet));
    say(`${planned.kind}: all workers are back after ${backMs.at(-1)} ms`);
    await sleep(planned.restMs);
    if (performance.now() > end && backMs.length >= kinds) break;
  }
  return backMs;
}

/** Ms until each worker has had an answer of Redis. */
async function recovered({ workers }: Fleet): Promise<number> {
  const healedMs = monotonicMs();
  for (;;) {
    const last = Math.min(...workers.map(({ fetchedAtMs }) => fetchedAtMs));
    if (last > healedMs) return Math.max(...workers.map(({ fetchedAtMs }) => fetchedAtMs)) - healedMs;
    if (monotonicMs() - healedMs > WEDGED_MS) return Infinity;
    await sleep(20);
  }
}

function wedged(backMs: number, index: number): string[] {
  return backMs === Infinity
    ? [`fault ${index + 1}: a worker had no answer of Redis for ${WEDGED_MS} ms after it`]
    : [];
}

/** The server loses its data in the middle of the work; what is enqueued afterwards must fare as ever. */
async function forget({ fleet, server, history }: Scene): Promise<number[]> {
  await sleep(6_000);
  const others = fleet.slots.filter(({ role }) => !role.endsWith('worker'));
  for (const slot of others) await fleet.kill(slot);
  history.add(['fault', 'redis-kill without persistence']);
  history.add(['forgotten', [...fleet.producerNumbers]]);
  await server!.kill('SIGKILL');
  await server!.restart();
  history.add(['healed', 'redis-kill without persistence']);
  const backMs = await recovered(fleet);
  for (const slot of others) await fleet.start(slot);
  await sleep(8_000);
  return [backMs];
}

/** Under load a worker is killed now and then. */
async function untilAllAreEnqueued({ fleet, history }: Scene): Promise<number[]> {
  const backMs: number[] = [];
  for (let round = 0; fleet.producers.some(({ done }) => !done); round++) {
    await sleep(1_000);
    if (round % 60 !== 30) continue;
    const slot = fleet.workers[Math.floor(round / 60) % fleet.workers.length]!;
    history.add(['fault', 'kill']);
    await fleet.kill(slot);
    await fleet.start(slot);
    history.add(['healed', 'kill']);
    backMs.push(await recovered(fleet));
  }
  return backMs;
}

/** Waits until nothing is left to do but what is due in an hour; answers what stayed. */
async function drain(queues: readonly JobQueue[], admin: Redis): Promise<string[]> {
  const left = async (queue: JobQueue) => {
    const { pending, processing } = await queue.stats();
    const { keys } = await queue.scripts();
    return pending + processing + (await admin.zcount(keys.scheduled, '-inf', Date.now() + 600_000));
  };
  const all = async () => (await Promise.all(queues.map(left))).reduce((sum, each) => sum + each, 0);
  try {
    await eventually(async () => (await all()) === 0, { timeoutMs: DRAIN_MS });
    return [];
  } catch {
    return [`I1: ${await all()} jobs were not done ${DRAIN_MS} ms after the last enqueue`];
  }
}

async function readAll(folder: string): Promise<Facts> {
  const facts = new Facts();
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  const producers = files.filter((name) => name.includes('producer'));
  for (const name of [...producers, ...files.filter((each) => !producers.includes(each))]) {
    await readHistory(join(folder, name), facts.add);
  }
  facts.finish();
  return facts;
}

async function sampleServer({ admin, fleet }: Scene, resources: Resources): Promise<void> {
  if (admin.status !== 'ready') return;
  const [memory, keys, clients] = await Promise.all([
    admin.info('memory'),
    admin.dbsize(),
    admin.client('LIST'),
  ]).catch(() => ['', 0, ''] as const);
  const used = /used_memory:(\d+)/.exec(memory)?.[1];
  const ours = String(clients)
    .split('\n')
    .filter((line) => fleet.slots.some(({ name }) => line.includes(` name=${name} `)));
  if (used) resources.addServer(Number(used), keys, ours.length);
}

async function leaveNothing(queues: readonly JobQueue[], admin: Redis): Promise<void> {
  for (const queue of queues) {
    await queue.purge({ confirm: queue.name });
    const { keys } = await queue.scripts();
    await admin.unlink(...Object.values(keys).filter((key): key is string => typeof key === 'string'));
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function kindsMissing(outcome: Outcome, own: boolean): string[] {
  const seen = new Set(outcome.recoveries.map(({ kind }) => kind));
  return (Object.keys(FAULT_KINDS) as FaultKind[]).filter(
    (kind) => (own || !FAULT_KINDS[kind].own) && !seen.has(kind),
  );
}
