// The processes of a simulated fleet: which there are at the start, and which replace those that end.
import { SimulatedCourier } from './processes/courier.js';
import { HubWorker } from './processes/hub-worker.js';
import { LimitsOperator } from './processes/limits-operator.js';
import { SimulatedOperator } from './processes/operator.js';
import type { SimulatedProcess } from './processes/process.js';
import { ScheduleKeeper } from './processes/schedule-keeper.js';
import { SimulatedSender, Table } from './processes/sender.js';
import { StreamFollower } from './processes/stream-follower.js';
import { TurnedWorker } from './processes/turned-worker.js';
import { SimulatedWorker } from './processes/worker.js';
import { AfterProducer } from './producers/after-producer.js';
import { BatchProducer } from './producers/batch-producer.js';
import { GroupProducer } from './producers/group-producer.js';
import { HubProducer } from './producers/hub-producer.js';
import { SimulatedProducer } from './producers/producer.js';
import { TurnedProducer } from './producers/turned-producer.js';
import { keepOrReplace, newestWins, UniqueProducer } from './producers/unique-producer.js';
import { NEWER, OLDER, type Release } from './release.js';
import type { QueueName, World } from './world.js';

const HOUR = 3_600_000;
const WORKERS = 4;
const HUB_WORKERS = 3;
const TURNED_WORKERS = 4;

export class Fleet {
  private processes: SimulatedProcess[] = [];
  /** All that ever started: one that is replaced may not have ended. */
  private readonly started: SimulatedProcess[] = [];
  private workers = 0;

  constructor(private readonly world: World) {}

  /** @param isForMany true for a fleet of workers of many queues only */
  begin(isForMany: boolean): void {
    if (this.world.parts.has('hub')) {
      this.beginHub();
    }
    if (this.world.parts.has('turns')) {
      this.beginTurned();
    }
    if (!isForMany) {
      this.beginOthers();
    }
  }

  private beginHub(): void {
    for (let i = 0; i < HUB_WORKERS; i++) {
      this.addHubWorker();
    }
    this.add(new HubProducer('hub-producer', this.world, this.skew()));
  }

  /** Adds a worker of many queues. Each second one has a limit for all of them. */
  private addHubWorker(): void {
    const number = this.workers++;
    this.add(new HubWorker(`hub-worker-${number}`, this.world, this.skew(), number % 2 === 0 ? undefined : 2));
  }

  /** The workers of many queues. */
  get hubWorkers(): HubWorker[] {
    return this.processes.filter((each) => each instanceof HubWorker);
  }

  /** Starts another worker of many queues for one that ended. */
  replaceHubWorker(victim: HubWorker): void {
    this.succeed(victim, () => this.addHubWorker());
  }

  private beginTurned(): void {
    for (let i = 0; i < TURNED_WORKERS; i++) {
      this.addTurnedWorker();
    }
    this.add(new TurnedProducer('turned-producer', this.world, this.skew()));
  }

  private addTurnedWorker(): void {
    this.add(new TurnedWorker(`turned-worker-${this.workers++}`, this.world, this.skew()));
  }

  /** The workers that look in turn. */
  get turnedWorkers(): TurnedWorker[] {
    return this.processes.filter((each) => each instanceof TurnedWorker);
  }

  /** Starts another worker that looks in turn for one that ended. */
  replaceTurnedWorker(victim: TurnedWorker): void {
    this.succeed(victim, () => this.addTurnedWorker());
  }

  private beginOthers(): void {
    for (let i = 0; i < WORKERS; i++) {
      this.addWorker('mixed');
    }
    this.addWorker('limited');
    this.addWorker('limited');
    const { world } = this;
    const hasMiddleware = world.parts.has('middleware');
    this.add(new SimulatedWorker('ordered-worker', world, this.skew(), 'ordered', OLDER));
    this.add(new SimulatedProducer('ordered-producer', world, this.skew(), 'ordered'));
    this.add(new SimulatedProducer('producer-a', world, this.skew(), 'mixed'));
    this.add(new SimulatedProducer('producer-b', world, this.skew(), 'mixed', hasMiddleware));
    this.add(new BatchProducer('producer-c', world, this.skew()));
    this.add(new SimulatedOperator('operator', world, this.skew()));
    this.beginParts();
  }

  /** Adds a worker. Versions alternate by default. */
  addWorker(queue: QueueName, release: Release = this.workers % 2 === 0 ? OLDER : NEWER): void {
    this.add(new SimulatedWorker(`worker-${this.workers++}`, this.world, this.skew(), queue, release));
  }

  /** Returns the workers that faults may strike: a second worker would break the order of the ordered queue. */
  get victims(): SimulatedWorker[] {
    return this.processes.filter(
      (each): each is SimulatedWorker => each instanceof SimulatedWorker && each.queue !== 'ordered',
    );
  }

  /** Starts another worker for one that ended, some time later. */
  replace(victim: SimulatedWorker, release: Release): void {
    this.succeed(victim, () => this.addWorker(victim.queue, release));
  }

  private succeed(victim: SimulatedProcess, add: () => void): void {
    const { clock, random } = this.world;
    this.processes = this.processes.filter((each) => each !== victim);
    clock.setTimeout(add, random.between(1, 10_000));
  }

  hasWorker(name: string, queue: string): boolean {
    return this.victims.some((each) => each.name === name && each.queue === queue);
  }

  thaw(): void {
    this.processes.forEach(({ clock }) => clock.thaw());
  }

  kill(): void {
    this.started.forEach((process) => process.kill());
  }

  private beginParts(): void {
    const { world } = this;
    if (world.parts.has('schedules')) {
      this.add(new ScheduleKeeper('schedule-keeper', world, this.skew()));
    }
    if (world.parts.has('unique')) {
      this.add(new UniqueProducer('unique-a', world, this.skew(), (random) => keepOrReplace(random, true)));
      this.add(new UniqueProducer('unique-b', world, this.skew(), (random) => keepOrReplace(random, false)));
    }
    if (world.parts.has('newest')) {
      this.add(new UniqueProducer('newest', world, this.skew(), newestWins));
    }
    if (world.parts.has('after')) {
      this.add(new AfterProducer('after', world, this.skew()));
    }
    if (world.parts.has('once')) {
      const table = new Table();
      this.add(new SimulatedSender('sender-a', world, this.skew(), table));
      this.add(new SimulatedSender('sender-b', world, this.skew(), table));
    }
    if (world.parts.has('elsewhere')) {
      this.add(new SimulatedCourier('courier-a', world, this.skew()));
      this.add(new SimulatedCourier('courier-b', world, this.skew()));
    }
    if (world.parts.has('groups')) {
      this.add(new GroupProducer('group-producer', world, this.skew()));
    }
    if (world.parts.has('streams')) {
      this.add(new StreamFollower('stream-follower', world, this.skew()));
    }
    if (world.parts.has('limits')) {
      this.add(new LimitsOperator('limits-operator', world, this.skew()));
    }
  }

  private add(process: SimulatedProcess): void {
    this.processes.push(process);
    this.started.push(process);
    process.start();
  }

  /** Returns the error of a wall clock, in ms. */
  private skew(): number {
    return this.world.random.between(-HOUR, HOUR);
  }
}
