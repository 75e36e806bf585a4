import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { MOST_ARGUMENTS } from '../../queue/runtime/bounds.js';
import { keptArray, slicesOf } from '../../queue/runtime/collections.js';
import type { Timer } from '../../queue/runtime/clock.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { Look } from '../../queue/store/queues-verbs.js';
import type { Place } from '../../queue/validation/key-table.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { FleetTurns } from './fleet-turns.js';
import { LONGEST_REST_MS } from './wait-length.js';

/** The interval of the looks, in ms, unless the worker is at rest. */
const INTERVAL_MS = 1_000;

/** The most workers of a fleet that look one after another. One that is left looks after as many intervals at the latest. */
const MOST_TURNS = 10;

/** The places of jobs that a claim could find. */
const CLAIMABLE: readonly Place[] = ['pending', 'prioritized', 'due', 'groupDepths'];

/** The places of many queues. A client of the Redis pattern leaves its jobs in `pending`, so that is looked at more often. */
const IN_TURN: readonly (readonly Place[])[] = [['pending'], ['prioritized', 'due', 'groupDepths']];

const LIMIT = { timeoutMs: 2_000 };

/** The runners of one connection that wait for jobs. */
interface WaitingRunners {
  readonly store: QueueStore;
  readonly runners: readonly QueueRunner[];
  /** Returns whether a runner waits, with a free slot. */
  isIdle(runner: QueueRunner): boolean;
  /** The turns of the worker in its fleet; undefined if it looks by itself. */
  readonly turns?: FleetTurns | undefined;
  /** Returns whether each job sets a marker that reaches this worker. Then it looks seldom. Absent if it never knows. */
  readonly isAtRest?: () => boolean;
  /** Called when some of them may have jobs. */
  found(): void;
}

/** Looks at some places of all queues. A look has a bounded number of keys; beyond that the queues take turns. */
class TurnedLook {
  private readonly slices: (readonly QueueRunner[])[];
  private readonly kept: (readonly StoreCalls[])[] = [];
  private next = 0;

  constructor(
    private readonly waiting: WaitingRunners,
    private readonly places: readonly Place[],
  ) {
    const { runners } = waiting;
    this.slices = slicesOf(runners, Math.floor(MOST_ARGUMENTS / places.length));
  }

  /** Looks at the idle queues whose turn it is. Returns the queues that may have jobs. */
  look(): Promise<QueueRunner[]> {
    const turn = this.next;
    this.next = (turn + 1) % this.slices.length;
    return this.lookAt(
      turn,
      this.slices[turn]!.filter((runner) => this.waiting.isIdle(runner)),
    );
  }

  /** Looks at all queues, also for workers that wait for jobs where this one does not. */
  async lookForFleet(): Promise<QueueRunner[]> {
    return (await Promise.all(this.slices.map((slice, turn) => this.lookAt(turn, slice)))).flat();
  }

  private async lookAt(turn: number, runners: readonly QueueRunner[]): Promise<QueueRunner[]> {
    if (runners.length === 0) {
      return [];
    }
    const calls = keptArray(
      this.kept[turn],
      runners.map((runner) => runner.calls),
    );
    this.kept[turn] = calls;
    const looks = await this.waiting.store.queues.look(calls, this.places, LIMIT);
    const answered = looks.find((look) => look.ok);
    if (answered) {
      this.waiting.turns?.noteTime(answered.reply.atMs);
    }
    // After an error the claims find out.
    return runners.filter((runner, i) => {
      const look = looks[i]!;
      return !look.ok || isNews(runner, look.reply.found);
    });
  }
}

/**
 * Looks for jobs without a marker, once a second for all idle queues together. Clients of the Redis pattern set no marker,
 * and a worker may die after it has taken one. A claim for each queue would cost far more. The workers of a fleet look in
 * turn, each at all queues.
 */
export class IdleLooks implements BackgroundRole {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private readonly looks: readonly TurnedLook[];

  constructor(private readonly waiting: WaitingRunners) {
    const isSplit = waiting.runners.length * CLAIMABLE.length > MOST_ARGUMENTS;
    this.looks = (isSplit ? IN_TURN : [CLAIMABLE]).map((places) => new TurnedLook(waiting, places));
  }

  start(): void {
    if (this.waiting.turns) {
      this.lookInTurn(this.waiting.turns);
    } else {
      this.timer = this.waiting.store.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
    }
  }

  private lookInTurn(turns: FleetTurns): void {
    const look = () => {
      void this.runOnce();
      this.lookInTurn(turns);
    };
    const { store, isAtRest } = this.waiting;
    const intervalMs = isAtRest?.() ? LONGEST_REST_MS : INTERVAL_MS;
    this.timer = store.clock.setTimeout(look, turns.untilNext(intervalMs, MOST_TURNS));
  }

  async stop(): Promise<void> {
    this.waiting.store.clock.clear(this.timer);
    this.waiting.turns?.leave();
    await this.running;
  }

  /** Looks at the idle queues whose turn it is. A call during a look returns that look. */
  runOnce(): Promise<void> {
    this.running ??= this.look().finally(() => (this.running = undefined));
    return this.running;
  }

  private async look(): Promise<void> {
    const { store, turns, isIdle } = this.waiting;
    if (!store.isReady) {
      return;
    }
    const isShared = turns?.areShared === true;
    const looks = this.looks.map((look) => (isShared ? look.lookForFleet() : look.look()));
    const found = (await Promise.all(looks)).flat();
    const claimable = found.filter(isIdle);
    claimable.forEach(({ outlook }) => outlook.expectJobs());
    if (claimable.length > 0) {
      this.waiting.found();
    }
    if (isShared) {
      await turns.wakeOthers(found, INTERVAL_MS);
    }
  }
}

/**
 * Returns whether a claim may find a job. Jobs that are all due later are news if no claim has learned of them. A runner
 * without a free slot cannot claim them before anyway.
 */
function isNews({ outlook, capacity }: QueueRunner, found: Look['found']): boolean {
  const canWait = outlook.nextDueInMs !== undefined || capacity.freeForWait === 0;
  return found.size > (found.has('scheduled') && canWait ? 1 : 0);
}
