import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { MOST_ARGUMENTS } from '../../queue/runtime/bounds.js';
import { keptArray } from '../../queue/runtime/kept-array.js';
import type { Timer } from '../../queue/runtime/clock.js';
import { slicesOf } from '../../queue/runtime/slices-of.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { Look, Place } from '../../queue/store/verbs/queues-verbs.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** The interval of the looks, in ms. */
const INTERVAL_MS = 1_000;

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
  async look(): Promise<QueueRunner[]> {
    const turn = this.next;
    this.next = (turn + 1) % this.slices.length;
    const idle = this.slices[turn]!.filter((runner) => this.waiting.isIdle(runner));
    if (idle.length === 0) {
      return [];
    }
    const calls = keptArray(
      this.kept[turn],
      idle.map((runner) => runner.calls),
    );
    this.kept[turn] = calls;
    const looks = await this.waiting.store.queues.look(calls, this.places, LIMIT);
    // After an error the claims find out.
    return idle.filter((runner, i) => {
      const look = looks[i]!;
      return !look.ok || isNews(runner, look.reply.found);
    });
  }
}

/**
 * Looks for jobs without a marker, once a second for all idle queues together. Clients of the Redis pattern set no marker,
 * and a worker may die after it has taken one. A claim for each queue would cost far more.
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
    this.timer = this.waiting.store.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
  }

  async stop(): Promise<void> {
    this.waiting.store.clock.clear(this.timer);
    await this.running;
  }

  /** Looks at the idle queues whose turn it is. A call during a look returns that look. */
  runOnce(): Promise<void> {
    this.running ??= this.look().finally(() => (this.running = undefined));
    return this.running;
  }

  private async look(): Promise<void> {
    if (!this.waiting.store.isReady) {
      return;
    }
    const found = (await Promise.all(this.looks.map((look) => look.look()))).flat();
    found.forEach(({ outlook }) => outlook.expectJobs());
    if (found.length > 0) {
      this.waiting.found();
    }
  }
}

/** Returns whether a claim may find a job. Jobs that are all due later are news if no claim has learned of them. */
function isNews({ outlook }: QueueRunner, found: Look['found']): boolean {
  return found.size > (found.has('scheduled') && outlook.nextDueInMs !== undefined ? 1 : 0);
}
