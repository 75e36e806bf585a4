// One run: a fleet at work, faults, the end of all work, and the verdict.
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobQueue } from '#queue/job-queue.js';
import { isCluster } from '#queue/redis/redis-client.js';
import { overdue } from './recovery-bounds.js';
import { check, type Verdict } from '../check/check.js';
import { beginMinutes } from '../check/minutes.js';
import { Facts } from '../histories/facts.js';
import { auditAndRepair, deleteKeys, drain, finalAudit, idleShards, permitsLeft, unplanned } from './ending.js';
import type { Scene } from '../faults/scene.js';
import { Fleet } from './fleet.js';
import { prepareGround } from './ground.js';
import { forget, injectFaults, untilAllAreEnqueued, wedged } from './inject-faults.js';
import { missed } from '../faults/hits.js';
import { monotonicMs } from '../histories/clock.js';
import { HistoryWriter, readHistory } from '../histories/history.js';
import { kindsOf, type FaultKind, type Topology } from '../plan.js';
import type { RunOptions } from './run-options.js';
import { Resources, type Growth } from '../watch/resources.js';
import { ScriptWatch } from '../watch/script-watch.js';
import { SlotWatch } from '../watch/slots.js';
import { SlowCalls } from '../watch/slow-calls.js';
import { takeSnapshot } from '../check/snapshot.js';
import type { KindRecovery } from './recovery.js';
import { recoveryByKind } from './recovery-by-kind.js';
import { flowOptions, MAX_RUNNING } from '../processes/flow-work.js';
import { sharedOptions, sharingQueues } from '../processes/shared-work.js';
import { spreadQueueOf } from '../processes/spread-work.js';
import { queueOptions } from '../processes/workload.js';

const SAMPLE_MS = 2_000;

export interface Outcome extends Verdict {
  seed: number;
  seconds: number;
  folder: string;
  recoveries: KindRecovery[];
  growth: Growth[];
}

export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, say } = options;
  const load = options.jobs > 0;
  const folder = mkdtempSync(join(tmpdir(), `soak-${seed}-`));
  say(`seed ${seed}; the histories are in ${folder}`);
  const durable = options.persistence === 'aof' && !load;
  const ground = await prepareGround({ ...options, durable });
  const name = `soak-${seed}-${process.pid}`;
  const flow = load ? [] : [new JobQueue(ground.admin, `${name}-flow`, flowOptions())];
  const plain = [name, `${name}-fifo`].map((each) => new JobQueue(ground.admin, each, queueOptions(load)));
  const sharing = load
    ? []
    : sharingQueues(name).map((each) => new JobQueue(ground.admin, each, sharedOptions(name)));
  const spread = load ? [] : (await spreadQueueOf(ground.admin, name)).shards;
  const queues = [...plain, ...flow, ...sharing, ...spread];
  const resources = new Resources();
  const common = load
    ? { concurrency: 100, batch: 250, rate: Infinity, backlog: 5_000, jobs: Math.ceil(options.jobs / 2), load }
    : { concurrency: 10, batch: 20, rate: 400, backlog: 1_000, jobs: 0, load };
  const fleet = new Fleet(
    { line: ground.line, urls: ground.urls, folder, queue: name, seed, proxied: !load, common },
    resources,
  );
  const history = new HistoryWriter(join(folder, 'runner.jsonl'), 0, 'runner');
  const scene: Scene = { fleet, ground, queue: queues[0]!, queues, history };
  const begin = performance.now();
  // Watching would slow a user's server or a load down.
  const watch = ground.server && !load ? new ScriptWatch(ground.server, history) : undefined;
  const slowCalls = new SlowCalls(ground.urls, history);
  const slotWatches = flow.map((queue) => new SlotWatch(queue, ground.admin, MAX_RUNNING));
  const sampling = setInterval(() => void sampleServer(scene, resources), SAMPLE_MS);
  try {
    await beginMinutes(queues);
    await startFleet(fleet, load);
    const workBegan = performance.now();
    const recoveries = load
      ? await untilAllAreEnqueued(scene)
      : options.persistence === 'memory'
        ? await forget(scene, options)
        : await injectFaults(scene, options);
    const workEnded = performance.now();
    await Promise.all(fleet.producers.map((slot) => fleet.stop(slot)));
    await Promise.all(fleet.slots.filter(({ role }) => role === 'operator').map((slot) => fleet.stop(slot)));
    await auditAndRepair(queues, history);
    const stuck = await drain(queues);
    const endMs = monotonicMs();
    const seconds = (performance.now() - begin) / 1_000;
    await Promise.all(fleet.workers.map((slot) => fleet.stop(slot)));
    await watch?.stop();
    await slowCalls.stop();
    await history.written();
    say('all work has ended; checking');
    const facts = await readAll(folder);
    const verdict = check(facts, await takeSnapshot(ground, queues));
    // A fault without hits was left undone.
    const hit = facts.remarks.faults.filter((_, i) => recoveries[i]!.hits > 0);
    const planned = hit.filter(({ kind }) => kind.startsWith('sentinel')).length;
    const recovered = recoveryByKind(facts, endMs, recoveries);
    verdict.violations.push(
      ...stuck,
      ...fleet.exits,
      ...wedged(recoveries),
      ...overdue(recovered),
      ...missed(recovered),
    );
    verdict.violations.push(...unplanned(ground, planned), ...(await finalAudit(queues)));
    verdict.violations.push(...slotWatches.flatMap((each) => each.stop()), ...(await permitsLeft(sharing)));
    verdict.violations.push(...(await idleShards(spread)));
    verdict.violations.push(...fleet.leaks.map((leak) => `leaked by ${leak}`));
    const servers = isCluster(ground.admin) ? [] : ['Redis']; // the masters of a Cluster come and go
    const processes = fleet.slots.map((slot) => slot.name);
    const growth = resources.growth(workBegan, workEnded, [...servers, ...processes]);
    return { ...verdict, seed, seconds, folder, recoveries: recovered, growth };
  } finally {
    await watch?.stop();
    await slowCalls.stop();
    clearInterval(sampling);
    slotWatches.forEach((each) => each.stop());
    await fleet.close();
    history.close();
    if (options.redisUrl !== undefined) await deleteKeys(queues, ground);
    await ground.stop();
  }
}

function startFleet(fleet: Fleet, load: boolean): Promise<void> {
  const workers = [1, 2, 3, 4].map((i) => ['worker', `worker-${i}`] as const);
  return load
    ? fleet.add(...workers, ['operator', 'operator'], ['producer', 'producer-1'], ['producer', 'producer-2'])
    : fleet.add(
        ...workers,
        ['fifo-worker', 'fifo-worker'],
        ['flow-worker', 'flow-worker-1'],
        ['flow-worker', 'flow-worker-2'],
        ['shared-worker', 'shared-worker-1'],
        ['shared-worker', 'shared-worker-2'],
        ['spread-worker', 'spread-worker-1'],
        ['spread-worker', 'spread-worker-2'],
        ['operator', 'operator'],
        ['producer', 'producer-1'],
        ['fifo-producer', 'fifo-producer'],
        ['flow-producer', 'flow-producer'],
        ['shared-producer', 'shared-producer'],
        ['spread-producer', 'spread-producer'],
      );
}

async function readAll(folder: string): Promise<Facts> {
  const facts = new Facts();
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  for (const name of files.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    await readHistory(join(folder, name), facts.add);
  }
  facts.finish();
  return facts;
}

/** Orders the files: first the runner's, which has the losses of data, then producers and operators, then workers. */
function rankOf(file: string): number {
  return file.startsWith('runner') ? 0 : /producer|operator/.test(file) ? 1 : 2;
}

async function sampleServer({ ground: { admin }, fleet }: Scene, resources: Resources): Promise<void> {
  if (admin.status !== 'ready' || isCluster(admin)) return;
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

export function kindsMissing(outcome: Outcome, topology: Topology, own: boolean): FaultKind[] {
  const seen = new Set(outcome.recoveries.map(({ kind }) => kind));
  return kindsOf(topology, own).filter((kind) => !seen.has(kind));
}
