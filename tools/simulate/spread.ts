// A queue with shards, while producers and workers are killed, by a seed. Some replies are lost, and some calls are sent twice.
// A planted fault lets producers choose the wrong shard.
import { ScriptStore } from '#memory/script-store.js';
import { SpreadQueue } from '#spread/spread-queue.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { markOfShard, shardNames } from '#queue/model/spread.js';
import { keptIn } from '#queue/runtime/collections.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { Random } from '../chaos/random.js';
import { faultyStore, type Killed, PlantedServer } from './planted-server.js';
import { settled } from './settled.js';

const QUEUE = 'ingest';
const SHARDS = 3;
const GROUPS = 6;
/** The jobs of each producer. */
const JOBS = 60;
const KILLS = 6;
/** The time after which a producer without a reply is replaced, in ms. Longer than an enqueue may take. */
const PATIENCE_MS = 3_000;
/** The time in which all jobs must have ended after the last enqueue, in ms. */
const END_MS = 120_000;
const OPTIONS = {
  visibilityMs: 2_000,
  enqueueTimeoutMs: 1_000,
  maxAttempts: 100,
  maxCrashes: 100,
  backoff: 0,
  groups: { maxRunning: 1 },
};

/** A fault of producers. */
export interface SpreadPlant {
  /** The number of shards of the producers that replace killed ones. */
  number?: number;
  /** True if a repeated call goes to the next shard, whatever id it has. */
  repeatsElsewhere?: boolean;
}

/** A job as its payload names it: by its group and its place in it, or alone. */
interface Work {
  label: string;
  group?: string;
  place: number;
}

/** What happened to the jobs of a group. */
interface GroupTrail {
  shards: Set<string>;
  /** The last place that was started, and the last one whose handler returned. */
  started: number;
  returned: number;
}

/** The processes of a run, and what was wrong. */
class Fleet {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: PlantedServer;
  readonly violations = new Set<string>();
  private readonly workers: { worker: Worker; process: Killed }[] = [];
  private readonly acknowledged = new Set<string>();
  /** The shards and ids of each job that ran. */
  private readonly ran = new Map<string, Set<string>>();
  private readonly groups = new Map<string, GroupTrail>();

  constructor(
    seed: number,
    private readonly plant: SpreadPlant,
  ) {
    this.clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
    this.random = new Random(seed);
    this.server = new PlantedServer(this.clock, []);
  }

  async startWorker(): Promise<void> {
    const process: Killed = { isDead: false };
    const store = faultyStore(this, { longestMs: 20, lost: 0.002, repeated: 0.1 }, process);
    const served = this.spreadOn(store, SHARDS).shards.map((queue) => ({
      queue,
      concurrency: 4,
      handlers: { [queue.name]: (job: Job) => this.handle(job as Job<Work>) },
    }));
    const worker = new Worker(served, { concurrency: 4, claimsFromOne: true, sweepIntervalMs: 500 });
    this.workers.push({ worker, process });
    await settled(this.clock, worker.start());
  }

  killOldest(): void {
    this.workers.find(({ process }) => !process.isDead)!.process.isDead = true;
  }

  /** Enqueues jobs of some groups in their order, jobs with own ids, and jobs of any shard. */
  async produce(producer: number): Promise<void> {
    const places = new Map<string, number>();
    let process = this.newProducer(SHARDS);
    for (let i = 0; i < JOBS; i++) {
      const label = `${producer}-${i}`;
      const fate = this.random.next();
      const group = fate < 0.6 ? `group-${producer}-${this.random.between(1, GROUPS)}` : undefined;
      const place = group === undefined ? 0 : (places.get(group) ?? 0) + 1;
      if (group !== undefined) places.set(group, place);
      const work: Work = { label, place, ...(group !== undefined && { group }) };
      const hasId = fate < 0.8;
      if (this.random.chance(0.15)) this.killLater(process);
      while (!(await this.send(process, work, hasId))) {
        process = this.newProducer(this.plant.number ?? SHARDS);
        if (!hasId) break; // the job may be there, and nobody knows its id
      }
    }
  }

  /** Waits until all jobs have ended, and checks that each has run as one job. */
  async finish(): Promise<void> {
    const { shards } = this.spreadOn(new ScriptStore(this.clock, { server: this.server }), SHARDS);
    const open = async () => {
      const all = await Promise.all(shards.map((shard) => shard.stats()));
      return all.reduce((sum, { pending, scheduled, processing }) => sum + pending + scheduled + processing, 0);
    };
    for (const until = this.clock.now() + END_MS; (await open()) > 0 && this.clock.now() < until;) {
      await this.clock.advance(200);
    }
    if ((await open()) > 0) this.violations.add('a job has not ended');
    for (const label of this.acknowledged) {
      if (!this.ran.has(label)) this.violations.add('a job is lost');
    }
    const living = this.workers.filter(({ process }) => !process.isDead);
    await settled(this.clock, Promise.all(living.map(({ worker }) => worker.stop({ timeoutMs: 1_000 }))));
  }

  private spreadOn(store: ScriptStore, number: number): SpreadQueue {
    const shards = shardNames(QUEUE, number).map((name) => new JobQueue(store, name, OPTIONS));
    shards.forEach((shard, i) => (shard.idMark = markOfShard(i)));
    return new SpreadQueue(QUEUE, shards, () => shards[0]!);
  }

  private newProducer(number: number) {
    const process: Killed & { spread?: SpreadQueue } = { isDead: false };
    const store = faultyStore(this, { longestMs: 20, lost: 0.05, repeated: 0.2 }, process);
    return Object.assign(process, { spread: this.spreadOn(store, number) });
  }

  private killLater(process: Killed): void {
    this.clock.setTimeout(() => (process.isDead = true), this.random.between(0, 60));
  }

  /** Sends one job, again and again with the same id. Returns false if its process has died. */
  private async send(process: Killed & { spread: SpreadQueue }, work: Work, hasId: boolean): Promise<boolean> {
    const { spread } = process;
    let id = hasId ? work.label : undefined;
    for (let tries = 0; !process.isDead; tries++) {
      const options = { ...(id !== undefined && { id }), ...(work.group !== undefined && { group: work.group }) };
      const isMisled = this.plant.repeatsElsewhere && tries > 0 && work.group === undefined;
      const shard = (isMisled ? undefined : spread.ofJob('job', options)) ?? spread.next();
      try {
        await this.withPatience(spread.follow(shard, () => shard.enqueue(work, options)));
        this.acknowledged.add(work.label);
        return true;
      } catch (error) {
        if (!(error instanceof EnqueueError)) throw error;
        [id] = error.jobIds;
      }
    }
    return false;
  }

  /** Waits for a reply. That of a dead process never comes. @throws EnqueueError */
  private withPatience<Reply>(reply: Promise<Reply>): Promise<Reply> {
    const late = new Promise<never>((_, reject) =>
      this.clock.setTimeout(() => reject(new EnqueueError('unknown', QUEUE, [], 'no reply')), PATIENCE_MS),
    );
    late.catch(() => undefined);
    return Promise.race([reply, late]);
  }

  private async handle(job: Job<Work>): Promise<void> {
    const { label, group, place } = job.payload;
    const ran = keptIn(this.ran, label, () => new Set<string>()).add(`${job.queue} ${job.id}`);
    if (ran.size > 1) this.violations.add('a job was added twice');
    const trail = group === undefined ? undefined : this.trailOf(group);
    if (trail) {
      trail.shards.add(job.queue);
      if (trail.shards.size > 1) this.violations.add('a group ran in two shards');
      if (place < trail.started || place > trail.returned + 1) this.violations.add('a group left its order');
      trail.started = Math.max(trail.started, place);
    }
    await new Promise((resolve) => this.clock.setTimeout(() => resolve(undefined), this.random.between(0, 40)));
    if (this.random.chance(0.05)) throw new Error('the handler fails');
    if (trail) trail.returned = Math.max(trail.returned, place);
  }

  private trailOf(group: string): GroupTrail {
    return keptIn(this.groups, group, () => ({ shards: new Set<string>(), started: 0, returned: 0 }));
  }
}

/** Enqueues to the shards of a queue while processes are killed. Returns what was wrong. */
export async function spreadOver(seed: number, plant: SpreadPlant = {}): Promise<string[]> {
  const fleet = new Fleet(seed, plant);
  await fleet.startWorker();
  await fleet.startWorker();
  const produced = Promise.all([fleet.produce(1), fleet.produce(2)]);
  for (let kill = 0; kill < KILLS; kill++) {
    await fleet.clock.advance(fleet.random.between(200, 2_000));
    fleet.killOldest();
    await fleet.startWorker();
  }
  await settled(fleet.clock, produced);
  await fleet.finish();
  return [...fleet.violations];
}
