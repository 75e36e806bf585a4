// A fleet by virtual time and a seed: its processes, its faults, and the course of a run.
import { MemoryServer } from '#testing/memory-store/memory-server.js';
import { turn } from '#testing/time/real-time.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { memoryViolations } from '../../test/support/invariants/memory-invariants.js';
import { Random } from '../chaos/random.js';
import { History } from './history.js';
import { NO_FAULTS, type NetworkFaults } from './network.js';
import { plantOf } from './plants.js';
import { BatchProducer } from './batch-producer.js';
import {
  SimulatedOperator,
  SimulatedProducer,
  SimulatedWorker,
  type QueueName,
  type SimulatedProcess,
} from './process.js';
import { NEWER, OLDER, type Release } from './release.js';
import { WatchedServer } from './watched-server.js';

const HOUR = 3_600_000;
const WORKERS = 4;

/** The share of a long run's steps that bring a fault, and the number of faults in a short run. */
const FAULT_SHARE = 0.004;
const FEWEST_FAULTS = 4;

/** Steps between two checks of the invariants. */
const LOOK_EVERY = 50;

/** The time the fleet may take to end all jobs after the last fault, in ms of its time. */
const CALM_MS = 3 * 60_000;
const MOST_CALM_STEPS = 5_000;

export interface Outcome {
  violations: string[];
  steps: number;
  jobs: number;
  /** The time that passed in the fleet, in ms. */
  simulatedMs: number;
  /** The number of calls, by script. */
  calls: Record<string, number>;
  kills: number;
  freezes: number;
  deploys: number;
  /** Equal for two runs that did the same. */
  digest: number;
}

export class World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: MemoryServer;
  readonly watched: WatchedServer;
  readonly history = new History();
  isEnding = false;
  private readonly faults: NetworkFaults;
  private processes: SimulatedProcess[] = [];
  private workers = 0;
  private kills = 0;
  private freezes = 0;
  private deploys = 0;

  /** @param plant a fault of the store, which the run must find */
  constructor(seed: number, plant?: string) {
    this.clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
    this.random = new Random(seed);
    this.server = new MemoryServer(() => this.clock.now());
    this.watched = new WatchedServer(() => this.server.all, plant === undefined ? undefined : plantOf(plant));
    const share = () => this.random.next() * 0.04;
    this.faults = { lost: share(), unanswered: share(), repeated: share(), delayed: 0.3, longestMs: 40 };
  }

  /** Returns the network faults of a process. The ordered queue shows the store's order, so its calls always arrive. */
  faultsOf(process: SimulatedProcess): NetworkFaults {
    return this.isEnding || process.name.startsWith('ordered') ? NO_FAULTS : this.faults;
  }

  /** Runs a fleet for this many steps, lets it finish its jobs, and returns what was wrong. */
  async run(steps: number): Promise<Outcome> {
    const begunAt = this.clock.now();
    this.begin();
    let step = 0;
    const faultShare = Math.max(FAULT_SHARE, FEWEST_FAULTS / steps);
    for (; step < steps && this.violations.length === 0; step++) {
      await this.step(step, faultShare);
    }
    if (this.violations.length === 0) {
      await this.calm();
      this.history.finish(this.server.all);
    }
    this.processes.forEach((process) => process.kill());
    return {
      violations: this.violations,
      steps: step,
      jobs: this.history.jobs.size,
      simulatedMs: this.clock.now() - begunAt,
      calls: Object.fromEntries(this.watched.calls),
      kills: this.kills,
      freezes: this.freezes,
      deploys: this.deploys,
      digest: this.watched.digestOfState(),
    };
  }

  private get violations(): string[] {
    return [...this.watched.violations, ...this.history.violations];
  }

  private begin(): void {
    for (let i = 0; i < WORKERS; i++) {
      this.addWorker('mixed');
    }
    this.addWorker('limited');
    this.addWorker('limited');
    this.add(new SimulatedWorker('ordered-worker', this, this.skew(), 'ordered', OLDER));
    this.add(new SimulatedProducer('ordered-producer', this, this.skew(), 'ordered'));
    this.add(new SimulatedProducer('producer-a', this, this.skew(), 'mixed'));
    this.add(new SimulatedProducer('producer-b', this, this.skew(), 'mixed'));
    this.add(new BatchProducer('producer-c', this, this.skew()));
    this.add(new SimulatedOperator('operator', this, this.skew()));
  }

  private add(process: SimulatedProcess): void {
    this.processes.push(process);
    process.start();
  }

  private addWorker(queue: QueueName, release = this.workers % 2 === 0 ? OLDER : NEWER): void {
    this.add(new SimulatedWorker(`worker-${this.workers++}`, this, this.skew(), queue, release));
  }

  /** Returns the error of a wall clock, in ms. */
  private skew(): number {
    return this.random.between(-HOUR, HOUR);
  }

  private async step(step: number, faultShare: number): Promise<void> {
    await this.clock.fireNext();
    if (this.random.chance(faultShare)) {
      this.befall();
    }
    if (step % LOOK_EVERY === 0) {
      this.look();
    }
  }

  /** Kills, freezes or replaces a worker, or breaks a job. */
  private befall(): void {
    const workers = this.processes.filter(
      (each): each is SimulatedWorker => each instanceof SimulatedWorker && each.queue !== 'ordered',
    );
    const what = this.random.next();
    if (what < 0.2 || workers.length === 0) {
      this.breakJob();
      return;
    }
    const victim = this.random.pick(workers);
    if (what < 0.5) {
      this.kills++;
      victim.kill();
      this.replace(victim, victim.release);
    } else if (what < 0.65) {
      this.deploys++;
      void victim.stop();
      this.replace(victim, victim.release === OLDER ? NEWER : OLDER);
    } else {
      this.freezes++;
      victim.clock.freeze();
      this.clock.setTimeout(() => victim.clock.thaw(), this.random.between(100, 12_000));
    }
  }

  private replace(victim: SimulatedWorker, release: Release): void {
    this.processes = this.processes.filter((each) => each !== victim);
    this.clock.setTimeout(() => this.addWorker(victim.queue, release), this.random.between(1, 10_000));
  }

  /** Deletes the hash of a waiting job, as somebody with redis-cli may. */
  private breakJob(): void {
    const queue = this.server.all.find(({ name }) => name === 'mixed');
    const waiting = queue ? [...queue.pending, ...queue.scheduled.members()] : [];
    if (queue && waiting.length > 0) {
      const id = this.random.pick(waiting);
      queue.drop(id);
      this.history.jobs.get(id)!.broken = true;
    }
  }

  private look(): void {
    for (const queue of this.server.all) {
      memoryViolations(queue)
        .filter((fault) => !this.isBroken(fault))
        .forEach((fault) => this.watched.violations.add(`${fault} (${queue.name})`));
    }
  }

  /** Returns whether the fault concerns a job that the run itself broke. */
  private isBroken(fault: string): boolean {
    const id = /^I\d: (\S+)/.exec(fault)?.[1] ?? '';
    return this.history.jobs.get(id)?.broken ?? false;
  }

  /** Lets all enqueued jobs end, without further faults. */
  private async calm(): Promise<void> {
    this.isEnding = true;
    this.processes.forEach(({ clock }) => clock.thaw());
    this.addWorker('mixed', NEWER); // one for each name
    const until = this.clock.now() + CALM_MS;
    for (let i = 0; i < MOST_CALM_STEPS && this.clock.now() < until && !this.isIdle; i++) {
      await this.clock.fireNext();
    }
    await turn();
    this.look();
  }

  private get isIdle(): boolean {
    return this.server.all.every(
      ({ pending, prioritized, scheduled, claims }) =>
        pending.length + prioritized.size + scheduled.size + claims.size === 0,
    );
  }
}
