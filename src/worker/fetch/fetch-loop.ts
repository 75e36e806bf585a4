import { randomId } from '../../queue/model/random-id.js';
import type { JobQueueLogger } from '../../queue/model/logger.js';
import type { FailOutcome, Failure, Release, ReleaseOutcome } from '../../queue/store/queue-calls.js';
import type { ScriptCall, Settled } from '../../queue/redis/script-runner.js';
import type { Attempt } from '../attempt/attempt.js';
import type { Lane } from '../attempt/queue-runner.js';
import type { Settling } from '../attempt/settlement-buffer.js';
import type { Transport } from './retrying-transport.js';

/** The most claims and the most settlements of a kind that one queue has in one trip: a script must not run long. */
const MOST_PER_CALL = 500;

/** How long a queue rests whose script failed in a way that does not pass, in ms. */
const REST_AFTER_FAULT_MS = 1_000;

/** A call with what to do with its outcome. */
interface Errand {
  call: ScriptCall<unknown>;
  done: (outcome: Settled<unknown>) => void;
}

type Trip = 'claims' | 'settlements';

/** Lanes that travel together, and which of their trips are under way. */
interface Route {
  lanes: readonly Lane[];
  underWay: Set<Trip>;
}

/**
 * Claims for what is free and settles what is finished, for all lanes of a worker, in as few round trips as possible:
 * what ends within one tick travels together, and nothing waits for a timer. One trip claims and one settles at a time, so
 * that Redis works on one while Node works on what the other brought. In a Cluster each lane has these two for itself: its
 * master may be away while those of others are there.
 */
export class FetchLoop {
  private readonly routes: readonly Route[];
  private readonly lanes: readonly Lane[];
  /** The lanes, those first whose turn it is where the slots of the process are dealt out. */
  private line: readonly Lane[];
  private waitingForIdle: (() => void)[] = [];

  /** @param together the lanes, as they travel together */
  constructor(
    private readonly worker: string,
    together: readonly (readonly Lane[])[],
    private readonly capacity: () => number,
    private readonly transport: Transport,
    private readonly logger: JobQueueLogger,
    private readonly onTrip: () => void,
  ) {
    this.routes = together.map((lanes) => ({ lanes, underWay: new Set() }));
    this.lanes = together.flat();
    this.line = this.lanes;
  }

  /** Resolves when no trip is under way and no settlement waits. */
  async idle(): Promise<void> {
    while (this.isUnderWay || this.lanes.some((lane) => !lane.outbox.isEmpty)) {
      await new Promise<void>((resolve) => this.waitingForIdle.push(resolve));
    }
  }

  private get isUnderWay(): boolean {
    return this.routes.some(({ underWay }) => underWay.size > 0);
  }

  /**
   * Sends what there is to send. The claims go first, since free slots wait for them, and nothing for a settlement; but what
   * is given back comes before what is behind it in the queue.
   */
  depart(): void {
    if (this.lanes.some((lane) => lane.outbox.releases.length > 0)) {
      this.settle();
    }
    this.fetch();
    this.settle();
    if (!this.isUnderWay) {
      this.waitingForIdle.splice(0).forEach((resolve) => resolve());
    }
  }

  /** Sends what has ended, of lanes whose settlements are not under way. */
  settle(): void {
    for (const route of this.readyFor('settlements')) {
      this.send(
        'settlements',
        route,
        route.lanes.flatMap((lane) => this.settlements(lane)),
      );
    }
  }

  private fetch(): void {
    const ready = this.readyFor('claims');
    if (ready.length === 0) {
      return;
    }
    const now = performance.now();
    const lanes = this.line.filter((lane) => ready.some((route) => route.lanes.includes(lane)));
    lanes.forEach(({ ahead }) => ahead.measure(now));
    const shares = this.dealSlots(lanes);
    for (const route of ready) {
      const own = shares.filter(([lane]) => route.lanes.includes(lane));
      this.send(
        'claims',
        route,
        own.map(([lane, count]) => this.claim(lane, count, now)),
      );
    }
  }

  private readyFor(trip: Trip): Route[] {
    return this.routes.filter(({ underWay }) => !underWay.has(trip));
  }

  private send(trip: Trip, route: Route, errands: Errand[]): void {
    if (errands.length > 0) {
      void this.travel(trip, route, errands);
    }
  }

  private async travel(trip: Trip, { underWay }: Route, errands: Errand[]): Promise<void> {
    underWay.add(trip);
    const outcomes = await this.transport.carry(errands.map(({ call }) => call));
    underWay.delete(trip);
    if (trip === 'claims') {
      // Jobs begin now. What they could take with them, by a crash or a long tick, is sent before, where it can be.
      this.settle();
    }
    errands.forEach(({ done }, i) => done(outcomes[i]!));
    this.onTrip(); // only now do the lanes know whether they are idle
  }

  private settlements(lane: Lane): Errand[] {
    const { completions, failures, releases } = lane.outbox.take(MOST_PER_CALL);
    return [
      ...(failures.length > 0 ? [this.fail(lane, failures)] : []),
      ...(releases.length > 0 ? [this.release(lane, releases)] : []),
      ...(completions.length > 0 ? [this.complete(lane, completions)] : []),
    ];
  }

  /**
   * How many to claim for whom. Where the process has a limit of its own its slots are dealt out in turn, so that each lane
   * gets its share however few there are at a time, and whichever lanes are under way meanwhile; and since those that are busy
   * leave none to wait for the others with, these are looked at once in a while.
   */
  private dealSlots(lanes: readonly Lane[]): [Lane, number][] {
    const claims: [Lane, number][] = [];
    let capacity = this.capacity();
    const isLimited = Number.isFinite(capacity);
    const hungry = lanes.filter((lane) => lane.free > 0 && (lane.hungry || (isLimited && lane.isUnwatched)));
    if (isLimited && capacity > 0) {
      this.moveBack(hungry.slice(0, capacity % hungry.length)); // those that get one more than others
    }
    for (let i = 0; i < hungry.length && capacity > 0; i++) {
      const lane = hungry[i]!;
      const share = Math.ceil(capacity / (hungry.length - i));
      const count = Math.min(lane.free, share, MOST_PER_CALL);
      capacity -= count;
      claims.push([lane, count]);
    }
    return claims;
  }

  private moveBack(lanes: readonly Lane[]): void {
    if (lanes.length > 0) {
      this.line = [...this.line.filter((lane) => !lanes.includes(lane)), ...lanes];
    }
  }

  private complete(lane: Lane, completions: Attempt[]): Errand {
    const confirm = (lost: number[]) => lane.outbox.confirmCompletions(completions, lost);
    return this.settlement(lane, completions.length, lane.scripts.complete(completions), confirm);
  }

  private fail(lane: Lane, failures: Settling<Failure>[]): Errand {
    const call = lane.scripts.fail(failures.map(({ settlement }) => settlement));
    const confirm = (outcomes: FailOutcome[]) => lane.outbox.confirmFailures(failures, outcomes);
    return this.settlement(lane, failures.length, call, confirm);
  }

  private release(lane: Lane, releases: Settling<Release>[]): Errand {
    const call = lane.scripts.release(releases.map(({ settlement }) => settlement));
    const confirm = (outcomes: ReleaseOutcome[]) => lane.outbox.confirmReleases(releases, outcomes);
    return this.settlement(lane, releases.length, call, confirm);
  }

  private settlement<Answer>(
    lane: Lane,
    count: number,
    call: ScriptCall<Answer>,
    confirm: (answer: Answer) => void,
  ): Errand {
    return errand(call, (outcome) => {
      lane.outbox.arrived(count);
      this.conclude(lane, outcome, confirm);
    });
  }

  private claim(lane: Lane, count: number, askedAtMs: number): Errand {
    const { policies, slots } = lane;
    lane.claiming += count;
    const request = { count, token: randomId(), worker: this.worker, stream: 'trip', policies, slots };
    return errand(lane.scripts.claim(request), (outcome) => {
      this.conclude(lane, outcome, (answer) => lane.take(answer, count, askedAtMs));
      if (!outcome.ok) {
        lane.giveUpClaim(count);
      }
    });
  }

  /** An error that does not pass is a fault of the data or of the setup: it is said, and the queue rests for a moment. */
  private conclude<Answer>(lane: Lane, outcome: Settled<Answer>, confirm: (answer: Answer) => void): void {
    if (outcome.ok) {
      confirm(outcome.answer);
      return;
    }
    this.logger.error(`Queue "${lane.name}": ${outcome.error.message}`);
    lane.rest(REST_AFTER_FAULT_MS);
  }
}

function errand<Answer>(call: ScriptCall<Answer>, done: (outcome: Settled<Answer>) => void): Errand {
  return { call, done: (outcome) => done(outcome as Settled<Answer>) };
}
