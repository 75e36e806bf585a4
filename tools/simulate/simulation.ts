// A fleet by virtual time and a seed: its faults, its checks, and the course of a run.
import { toBytes } from '#memory/lua/values.js';
import type { StreamEntry } from '#memory/server/keyspace.js';
import { turn, VirtualClock } from '#testing/time/virtual-clock.js';
import { faultsIn } from '../../test/support/invariants/invariants.js';
import { keysInMemory } from '../../test/support/invariants/key-reads.js';
import { WakeChannels } from '../../test/support/memory/cluster-store.js';
import { Random } from '../chaos/random.js';
import { Fleet } from './fleet.js';
import { History } from './history/history.js';
import { drawParts, type Part } from './parts.js';
import type { Plant } from './plants/plant.js';
import { CHANGED_GROUP } from './processes/limits-operator.js';
import { HUB_QUEUES } from './processes/hub-worker.js';
import type { SimulatedWorker } from './processes/worker.js';
import { NEWER, OLDER } from './release.js';
import { NO_FAULTS, type NetworkFaults } from './server/network.js';
import { AuditCheck } from './server/audit-check.js';
import { MeetingCheck } from './server/meeting-check.js';
import { permitsHeld, sequenceOf, sizesOf, streamOf } from './server/queue-reads.js';
import { ServerClock } from './server/server-clock.js';
import { SimulatedServer } from './server/simulated-server.js';
import { TurnCheck } from './server/turn-check.js';
import { WatchedServer } from './server/watched-server.js';
import type { QueueName, World } from './world.js';

/** The share of a long run's steps that bring a fault, and the number of faults in a short run. */
const FAULT_SHARE = 0.004;
const FEWEST_FAULTS = 4;

/** The share of steps that bring a fault of the workers of many queues. */
const HUB_FAULT_SHARE = 0.01;

/** The time until the first fault of the workers that look in turn, in ms. They know each other then. */
const FIRST_TURNED_FAULT_MS = 45_000;

/** Steps between two checks of the invariants. */
const LOOK_EVERY = 50;

/** The time the fleet may take to end all jobs after the last fault, in ms of its time. */
const CALM_MS = 3 * 60_000;
/** The time in which the permits of killed workers end: a claim, and six seconds. */
const PERMITS_MS = 12_000;
const MOST_CALM_STEPS = 5_000;

/** The time for which schedules tick on after a run with jumps of the clock, in ms. Longer than they may be silent. */
const TICK_ON_MS = 18_000;

/** The calls after which a unique key may have two holders. */
const PLACES = new Set([
  'jobEnqueue',
  'jobEnqueueNewest',
  'scheduleTick',
  'scheduleRun',
  'attemptFail',
  'attemptRelease',
  'sweepReclaim',
]);

/** The calls by which an ended job waits again. */
const REOPENS = new Set(['jobRunAgain', 'deadLetterRedrive']);

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
  /** The number of times when the server's clock became wrong. */
  jumps: number;
  /** Equal for two runs that did the same. */
  digest: number;
}

/** A run by a seed: its clock, its server, its fleet, and the faults that strike them. */
export class Simulation implements World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: SimulatedServer;
  readonly channels: WakeChannels | undefined;
  readonly watched: WatchedServer;
  readonly serverClock: ServerClock;
  readonly history: History;
  parts: ReadonlySet<Part>;
  isEnding = false;
  readonly isQuick: boolean;
  private readonly faults: NetworkFaults;
  private readonly fleet = new Fleet(this);
  private readonly meetings: MeetingCheck | undefined;
  private readonly turns: TurnCheck | undefined;
  private readonly audit: AuditCheck | undefined;
  private kills = 0;
  private freezes = 0;
  private deploys = 0;

  /**
   * @param steps the number of steps with faults
   * @param plant a fault of the store, which the run must find
   */
  constructor(
    seed: number,
    private readonly steps: number,
    plant?: Plant,
  ) {
    this.clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
    this.isQuick = !plant && seed % 3 === 0;
    this.random = new Random(seed);
    const drawn = drawParts(this.random, steps, seed);
    this.parts = plant ? new Set([plant.part ?? []].flat()) : drawn;
    this.serverClock = new ServerClock(this.clock, this.random, (nowMs) => {
      this.history.clockJumped(nowMs);
      this.watched.forgetCalls();
    });
    this.history = new History(() => this.clock.now());
    this.server = new SimulatedServer(
      this.serverClock.now,
      this.history.observer,
      () => this.clock.random(),
      plant,
    );
    this.channels = this.parts.has('hub') ? new WakeChannels(this.server) : undefined;
    // Since a clock jumps, nobody knows how long a job has waited.
    this.meetings =
      this.channels && !this.parts.has('clock')
        ? new MeetingCheck(this.server, this.channels, () => this.fleet.hubWorkers)
        : undefined;
    this.turns =
      this.parts.has('turns') && !this.parts.has('clock')
        ? new TurnCheck(this.server, () => this.fleet.turnedWorkers)
        : undefined;
    this.audit = this.parts.has('audit') ? new AuditCheck() : undefined;
    this.watched = new WatchedServer(
      this.server,
      (script, process) => this.lookAfter(script, process),
      () => this.clock.monotonic(),
    );
    const share = () => this.random.next() * 0.04;
    this.faults = { lost: share(), unanswered: share(), repeated: share(), delayed: 0.3, longestMs: 40 };
  }

  faultsOf({ name }: { name: string }): NetworkFaults {
    // The ordered queue shows the store's order, so its calls always arrive.
    if (this.isEnding || name.startsWith('ordered')) {
      return NO_FAULTS;
    }
    // A lost call costs more than a lost wake. So calls of workers of many queues are only late or repeated.
    return /^(hub|turned)-worker/.test(name) ? { ...this.faults, lost: 0, unanswered: 0 } : this.faults;
  }

  isOfLimits(group: string): boolean {
    return this.parts.has('limits') && group === CHANGED_GROUP;
  }

  streamOf(name: QueueName, id: string): readonly StreamEntry[] {
    const queue = this.server.queues.find((each) => each.name === name);
    return queue ? streamOf(queue, id) : [];
  }

  sequenceOf(name: QueueName): number {
    const queue = this.server.queues.find((each) => each.name === name);
    return queue ? sequenceOf(queue) : 0;
  }

  /** Runs a fleet, lets it finish its jobs, and returns what was wrong. */
  async run(): Promise<Outcome> {
    const { steps } = this;
    const begunAt = this.clock.now();
    const isForMany = this.parts.has('hub') || this.parts.has('turns');
    this.fleet.begin(this.parts.size === 1 && isForMany);
    if (this.parts.has('turns')) {
      this.befallTurned(FIRST_TURNED_FAULT_MS);
    }
    let step = 0;
    const faultShare = Math.max(FAULT_SHARE, FEWEST_FAULTS / steps);
    for (; step < steps && this.violations.length === 0; step++) {
      await this.step(step, faultShare);
    }
    if (this.violations.length === 0) {
      await this.calm();
    }
    if (this.violations.length === 0) {
      this.history.finish(this.server.queues);
    }
    this.fleet.kill();
    return {
      violations: this.violations,
      steps: step,
      jobs: this.history.jobs.size,
      simulatedMs: this.clock.now() - begunAt,
      calls: Object.fromEntries(this.watched.calls),
      kills: this.kills,
      freezes: this.freezes,
      deploys: this.deploys,
      jumps: this.serverClock.jumps,
      digest: this.watched.digestOfState(),
    };
  }

  private get violations(): string[] {
    return [...this.watched.violations, ...this.history.violations];
  }

  private async step(step: number, faultShare: number): Promise<void> {
    await this.clock.fireNext();
    if (this.random.chance(faultShare)) {
      this.befall();
    }
    if (this.channels && this.random.chance(HUB_FAULT_SHARE)) {
      this.befallHub(this.channels);
    }
    [...(this.meetings?.look() ?? []), ...(this.turns?.look() ?? [])].forEach((fault) =>
      this.watched.violations.add(fault),
    );
    if (step % LOOK_EVERY === 0) {
      this.look();
    }
  }

  /** Kills, freezes or replaces a worker of many queues, or lets it miss wakes. */
  private befallHub(channels: WakeChannels): void {
    const { random, fleet, clock } = this;
    const workers = fleet.hubWorkers;
    if (workers.length === 0) {
      return;
    }
    const victim = random.pick(workers);
    channels.lostAt = this.server.now(); // a wake may be on its way
    const faults = [
      () => {
        this.kills++;
        victim.kill();
        fleet.replaceHubWorker(victim);
      },
      () => {
        this.deploys++;
        void victim.stop();
        fleet.replaceHubWorker(victim);
      },
      () => {
        this.freezes++;
        victim.clock.freeze();
        clock.setTimeout(() => victim.clock.thaw(), random.between(100, 12_000));
      },
      () => channels.cut(victim.name),
      () => victim.mute(random.between(100, 4_000)),
      () => channels.move(random.pick(HUB_QUEUES)),
      () => {
        channels.isDeaf = true;
        channels.cut(victim.name);
        clock.setTimeout(() => (channels.isDeaf = false), random.between(1_000, 30_000));
      },
    ];
    random.pick(faults)();
  }

  /** Kills, freezes or replaces a worker that looks in turn, again and again. In between the others learn of it. */
  private befallTurned(afterMs: number): void {
    const { random, fleet, clock } = this;
    clock.setTimeout(() => {
      if (this.isEnding) {
        return;
      }
      const victim = random.pick(fleet.turnedWorkers);
      const fate = random.next();
      if (fate < 0.5) {
        this.kills++;
        victim.kill();
        fleet.replaceTurnedWorker(victim);
      } else if (fate < 0.75) {
        this.deploys++;
        void victim.stop();
        fleet.replaceTurnedWorker(victim);
      } else {
        this.freezes++;
        victim.clock.freeze();
        clock.setTimeout(() => victim.clock.thaw(), random.between(100, 40_000));
      }
      this.befallTurned(random.between(20_000, 130_000));
    }, afterMs);
  }

  /** Kills, freezes or replaces a worker, breaks a job, or lets the server's clock jump. */
  private befall(): void {
    const { victims } = this.fleet;
    if (this.parts.has('clock') && this.random.chance(0.5)) {
      this.jump();
      return;
    }
    const what = this.random.next();
    if (what < 0.2 || victims.length === 0) {
      this.breakJob();
      return;
    }
    const victim = this.random.pick(victims);
    if (what < 0.5) {
      this.kill(victim);
    } else if (what < 0.65) {
      this.deploys++;
      void victim.stop();
      this.fleet.replace(victim, victim.release === OLDER ? NEWER : OLDER);
    } else {
      this.freezes++;
      victim.clock.freeze();
      this.clock.setTimeout(() => victim.clock.thaw(), this.random.between(100, this.longestFreezeMs));
    }
  }

  /** The longest freeze. A permit ends in one that is longer than its claim and six seconds. */
  private get longestFreezeMs(): number {
    return this.parts.has('sharing') ? 5_000 : 12_000;
  }

  /** Lets the server's clock be wrong for a while. A worker may die before it is right again. */
  private jump(): void {
    this.serverClock.jump();
    this.clock.setTimeout(
      () => {
        const { victims } = this.fleet;
        if (!this.isEnding && victims.length > 0 && this.random.chance(0.8)) {
          this.kill(this.random.pick(victims));
        }
        this.serverClock.correct();
      },
      this.random.between(500, 6_000),
    );
  }

  private kill(victim: SimulatedWorker): void {
    this.kills++;
    victim.kill();
    this.fleet.replace(victim, victim.release);
  }

  /** Deletes the hash of a waiting job, as somebody with redis-cli may. */
  private breakJob(): void {
    const queue = this.server.queues.find(({ name }) => name === 'mixed');
    const waiting = queue ? [...queue.pending, ...queue.scheduled.members()] : [];
    if (queue && waiting.length > 0) {
      const id = this.random.pick(waiting);
      queue.server.send('UNLINK', [toBytes(queue.keys.job(id))]);
      this.history.jobs.get(id)!.broken = true;
    }
  }

  /** Checks what a call must leave, where it may have broken it. */
  private lookAfter(script: string, process: string): void {
    const { unique, follow } = this.history;
    if (REOPENS.has(script)) {
      this.server.queues.forEach((queue) => unique.reopened(queue));
    }
    const place =
      PLACES.has(script) && (['unique', 'newest', 'schedules'] as const).some((part) => this.parts.has(part));
    if (place || (script === 'sweepMaintainBatches' && this.parts.has('batches'))) {
      for (const queue of this.server.queues) {
        if (place) {
          if (this.server.last?.keys[0]?.startsWith(queue.keys.base)) unique.looks(queue);
        } else if (this.fleet.hasWorker(process, queue.name)) {
          follow.maintained(queue);
        }
      }
    }
  }

  private look(): void {
    this.server.queues.forEach((queue) => this.history.schedules.looks(queue));
    const reads = keysInMemory(this.server);
    for (const queue of this.server.queues) {
      [...faultsIn(reads, queue.keys), ...(this.audit?.look(queue) ?? [])]
        .filter((fault) => !this.isBroken(fault))
        .forEach((fault) => this.watched.violations.add(`${fault} (${queue.name})`));
    }
  }

  /** Returns whether the fault concerns a job that the run itself broke. */
  private isBroken(fault: string): boolean {
    const id = /^I\d: (@batch-of:\S+ \S+|\S+)/.exec(fault)?.[1] ?? '';
    return this.history.jobs.get(id)?.broken ?? false;
  }

  /** Lets all enqueued jobs end, without further faults. */
  private async calm(): Promise<void> {
    this.isEnding = true;
    this.serverClock.correct();
    this.fleet.thaw();
    if (this.parts.has('clock')) {
      await this.tickOn();
    }
    this.history.schedules.finish(this.server.queues);
    this.startLateJobs();
    this.fleet.addWorker('mixed', NEWER); // one for each name
    this.endSchedules();
    await turn(); // a tick may be on its way
    // Isolated jobs end one by one, some seconds apart. So the time counts from the last end.
    let [least, until] = [Infinity, 0];
    for (let i = 0; i < MOST_CALM_STEPS && this.unfinished > 0 && this.violations.length === 0; i++) {
      if (this.unfinished < least) {
        [least, until, i] = [this.unfinished, this.clock.now() + CALM_MS, 0];
      } else if (this.clock.now() >= until) {
        break;
      }
      this.endSchedules();
      await this.clock.fireNext();
    }
    await turn();
    this.look();
    if (this.parts.has('sharing')) {
      await this.endPermits();
    }
  }

  /** Lets the time of permits pass that killed workers have left, and looks whether others are left. */
  private async endPermits(): Promise<void> {
    for (const until = this.clock.now() + PERMITS_MS; this.clock.now() < until && this.violations.length === 0;) {
      await this.clock.fireNext();
    }
    this.history.sharing.left(permitsHeld(this.server));
  }

  /** Lets schedules tick by the right clock. A schedule whose next time is far ahead stays silent. */
  private async tickOn(): Promise<void> {
    this.history.schedules.calm(this.serverClock.now());
    for (const until = this.clock.now() + TICK_ON_MS; this.clock.now() < until;) {
      await this.clock.fireNext();
    }
    this.look();
  }

  /** Starts the jobs whose start a clock that was ahead has set. No server can tell it from one that was asked for. */
  private startLateJobs(): void {
    for (const queue of this.server.queues) {
      const { scheduled, keys, now } = queue;
      const isLate = (id: string) =>
        scheduled.score(id)! > now + CALM_MS / 2 && queue.field(keys.job(id), 'after') === undefined;
      scheduled
        .members()
        .filter(isLate)
        .forEach((id) => scheduled.put(id, now));
    }
  }

  /** Makes no further ticks: the workers of a fleet never end a schedule. */
  private endSchedules(): void {
    for (const { scheduleDue } of this.server.queues) {
      scheduleDue.members().forEach((id) => scheduleDue.put(id, Infinity));
    }
  }

  /** The number of jobs that wait or run, and of ends and follow-ups on their way to other queues. */
  private get unfinished(): number {
    return this.server.queues.reduce((sum, queue) => {
      const { pending, prioritized, grouped, scheduled, claims } = sizesOf(queue);
      const outbox = this.server.keys.read(toBytes(queue.keys.batchOutbox), 'hash')?.size ?? 0;
      return sum + pending + prioritized + grouped + scheduled + claims + outbox;
    }, 0);
  }
}
