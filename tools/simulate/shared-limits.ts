// A limit that two queues share, while their workers are killed, by a seed. Each call and each reply has a delay of its own,
// and some replies are lost. A planted fault changes the text of scripts.
import { JobQueue } from '#queue/job-queue.js';
import type { SharedLimitValues } from '#queue/model/shared-limit.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { Random } from '../chaos/random.js';
import { faultyStore, type Killed, type LossyNetwork, PlantedServer } from './planted-server.js';
import type { Edit } from './plants/plant.js';
import { settled } from './settled.js';

/** The limit of both queues together. */
export const MOST_RUNNING = 4;
/** The rate of both queues together, in a second. */
export const RATE = { limit: 50, periodMs: 1_000, burst: 5 };

const LIMIT = 'partner';
const QUEUES = ['chat', 'summary'];
const VISIBILITY_MS = 3_000;
const KILLS = 5;
const JOBS = 40;
/** The time in which all jobs must have ended after the last kill, and all permits be free, in ms. */
const PATIENCE_MS = 60_000;

/** A rate of which there is more than enough. */
const AMPLE = { limit: 1_000, periodMs: 1_000, burst: 100 };

/** A process of the fleet. */
interface Process extends Killed {
  worker: Worker;
  /** The jobs that run, by their groups. */
  running: Map<string, number>;
}

/** The fleet of a run: its time, its server, and its processes. */
class Fleet {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly starts: { queue: string; atMs: number; cost: number }[] = [];
  mostRunning = 0;
  readonly server: PlantedServer;
  private readonly processes: Process[] = [];

  constructor(
    seed: number,
    edits: readonly Edit[],
    private readonly network: LossyNetwork,
    private readonly values: SharedLimitValues,
    private readonly longestJobMs: number,
    private readonly costOfSecond: number | { most: number } = 1,
    readonly groups: readonly string[] = [],
  ) {
    this.random = new Random(seed);
    this.clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
    this.server = new PlantedServer(this.clock, edits);
  }

  /** Starts a process that serves both queues. */
  async start(): Promise<void> {
    const process = { isDead: false, running: new Map() } as Process;
    const store = faultyStore(this, this.network, process);
    const handle = async (job: { queue: string; payload: unknown; group: string | undefined }) => {
      const { queue, payload: cost, group = '' } = job;
      const runs = (more: number) => process.running.set(group, (process.running.get(group) ?? 0) + more);
      runs(1);
      this.starts.push({ queue, atMs: this.clock.now(), cost: Number(cost) });
      const living = this.processes.filter(({ isDead }) => !isDead);
      const running = living.reduce((sum, each) => sum + (each.running.get(group) ?? 0), 0);
      this.mostRunning = Math.max(this.mostRunning, running);
      await this.pause(this.random.between(1, this.longestJobMs));
      runs(-1);
    };
    const served = QUEUES.map((name) => ({
      queue: this.queue(name, store),
      concurrency: 5,
      handlers: { [name]: handle },
    }));
    process.worker = new Worker(served, { limits: { [LIMIT]: this.values } });
    this.processes.push(process);
    await settled(this.clock, process.worker.start());
  }

  /** Kills the oldest process. */
  kill(): void {
    const process = this.processes.find(({ isDead }) => !isDead)!;
    process.isDead = true;
  }

  queue(name: string, store: ScriptStore): JobQueue {
    return new JobQueue(store, name, {
      limits: [
        {
          limit: LIMIT,
          cost: name === QUEUES[0] ? 1 : this.costOfSecond,
          ...(this.groups.length > 0 && { key: 'group' }),
        },
      ],
      visibilityMs: VISIBILITY_MS,
      maxCrashes: 100,
      maxAttempts: 100,
    });
  }

  /** Returns a store without faults of the network, for the test itself. */
  directly(): ScriptStore {
    return new ScriptStore(this.clock, { server: this.server });
  }

  async enqueue(count: number): Promise<void> {
    const store = this.directly();
    for (const name of QUEUES) {
      const jobs = Array.from({ length: count }, () => this.drawJob(name));
      await settled(this.clock, this.queue(name, store).enqueueMany(jobs));
    }
  }

  /** Returns a job whose payload is its cost. */
  private drawJob(queue: string) {
    return { ...this.drawCost(queue), ...(this.groups.length > 0 && { group: this.random.pick(this.groups) }) };
  }

  private drawCost(queue: string) {
    if (queue === QUEUES[0] || typeof this.costOfSecond === 'number') {
      return { payload: queue === QUEUES[0] ? 1 : this.costOfSecond };
    }
    const cost = this.random.between(1, this.costOfSecond.most);
    return { payload: cost, ...(cost > 1 && { limitCosts: { [LIMIT]: cost } }) };
  }

  async stop(): Promise<void> {
    const living = this.processes.filter(({ isDead }) => !isDead);
    await settled(this.clock, Promise.all(living.map(({ worker }) => worker.stop({ timeoutMs: 1_000 }))));
  }

  private pause(ms: number): Promise<unknown> {
    return new Promise((resolve) => this.clock.setTimeout(() => resolve(undefined), ms));
  }
}

/**
 * Kills processes while two queues share a `maxRunning`.
 *
 * @param cost what a job of the second queue costs of the rate, of which there is more than enough
 * @param groups the groups of the jobs, each with the limit for itself, whose jobs are counted apart
 * @returns the most jobs at once in living processes, the open jobs, and the permits that are left
 */
export async function killed(
  seed: number,
  edits: readonly Edit[] = [],
  cost: number | { most: number } = 1,
  groups: readonly string[] = [],
): Promise<{ mostRunning: number; open: number; permits: number }> {
  const fleet = new Fleet(
    seed,
    edits,
    { longestMs: 10, lost: 0.002 },
    { maxRunning: MOST_RUNNING, ...(cost !== 1 && { rateLimit: AMPLE }) },
    200,
    cost,
    groups,
  );
  await fleet.start();
  for (let kill = 0; kill < KILLS; kill++) {
    await fleet.start();
    await fleet.enqueue(JOBS / KILLS);
    await fleet.clock.advance(fleet.random.between(1, 1_500));
    fleet.kill();
  }
  const store = fleet.directly();
  const queues = QUEUES.map((name) => fleet.queue(name, store));
  const state = async () => {
    const stats = await Promise.all(queues.map((queue) => queue.stats()));
    const open = stats.reduce((sum, { totals }) => sum + JOBS - totals.completed!, 0);
    const limit = queues[0]!.sharedLimit(LIMIT);
    const states = await Promise.all([limit, ...groups.map((group) => limit.key(group))].map((each) => each.get()));
    return { open, permits: states.reduce((sum, { running }) => sum + running, 0) };
  };
  const endsMs = fleet.clock.now() + PATIENCE_MS;
  let now = await state();
  while (now.open + now.permits > 0 && fleet.clock.now() < endsMs) {
    await fleet.clock.advance(200);
    now = await state();
  }
  await fleet.stop();
  return { mostRunning: fleet.mostRunning, ...now };
}

/**
 * Lets two queues share a rate, and enqueues far more jobs than it lets start.
 *
 * @param cost what a job of the second queue costs, or the most of a drawn cost
 * @returns the served share of the rate, and the most that starts cost in a period. Also the share of the queue that
 *   started less, and the leases for each start.
 */
export async function loaded(
  seed: number,
  edits: readonly Edit[] = [],
  cost: number | { most: number } = 1,
): Promise<{ served: number; mostInPeriod: number; smallerShare: number; leases: number }> {
  const seconds = 3;
  const fleet = new Fleet(seed, edits, { longestMs: 1, lost: 0 }, { rateLimit: RATE }, 20, cost);
  await fleet.start();
  await fleet.start();
  await fleet.enqueue(seconds * RATE.limit);
  await fleet.clock.advance(1_000);
  const fromMs = fleet.clock.now();
  await fleet.clock.advance(seconds * 1_000);
  const { starts } = fleet;
  const costOf = (some: typeof starts) => some.reduce((sum, start) => sum + start.cost, 0);
  const timed = starts.filter(({ atMs }) => atMs >= fromMs);
  const ofFirst = timed.filter(({ queue }) => queue === QUEUES[0]).length / timed.length;
  const inPeriod = starts.map(({ atMs }) =>
    costOf(starts.filter((other) => other.atMs >= atMs && other.atMs < atMs + RATE.periodMs)),
  );
  await fleet.stop();
  return {
    served: costOf(timed) / (seconds * RATE.limit),
    mostInPeriod: Math.max(...inPeriod),
    smallerShare: Math.min(ofFirst, 1 - ofFirst),
    leases: (fleet.server.calls.get('sharedLimitLease') ?? 0) / starts.length,
  };
}
