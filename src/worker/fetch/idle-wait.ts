import { RedisKeyTypeError } from '../../queue/errors/redis-errors.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { MOST_ARGUMENTS } from '../../queue/runtime/bounds.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { InterruptibleWait } from '../../queue/runtime/waits.js';
import { keptArray, slicesOf } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { ClaimReply } from '../../queue/store/attempt-forms.js';
import type { QueueStore, Settled, WorkerWait } from '../../queue/store/queue-store.js';
import type { Look } from '../../queue/store/queues-verbs.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Place } from '../../queue/validation/key-table.js';
import type { ClaimOutlook } from '../runner/claims.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { claimFor } from './fetch-loop.js';
import type { FleetTurns } from './fleet-turns.js';
import { MOST_CLAIMED_AT_ONCE, type WaitRoom } from './process-capacity.js';

/** The shortest wait where a job is due now and the last claim did not take it, in ms. */
const SHORTEST_WAIT_MS = 5;

/** The pause after a wait that ended with a transient error, such as a failover, in ms. */
const PAUSE_MS = 50;

/** How much earlier than asked a timer may end, in ms. */
const EARLY_MS = 1;

/** The time without a waiting runner, in ms, after which the worker listens only for cancels of running jobs. */
const LISTEN_AFTER_MS = 250;

/** The runners that one connection waits for. */
interface IdleWaitOptions extends WaitRoom {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
  /** True if claims travel behind the wait. */
  readonly claimsAlong: boolean;
  /** The turns of the worker in its fleet; undefined if it looks by itself. */
  readonly turns?: FleetTurns | undefined;
  readonly store: QueueStore;
  readonly logger: JobQueueLogger;
}

/** How a wait ended for one runner. */
interface WaitEnd {
  /** The queue whose marker ended it. */
  readonly wokenIn: StoreCalls | undefined;
  /** True if it ended before its time without an error. */
  readonly isCut: boolean;
  /** True if the next job of the runner was due by its end, or a limit let one start. */
  readonly isDue: boolean;
}

export interface IdleWaitListener {
  /** Called when a wait has ended. */
  onWake(): void;
  /** Called when a wait begins that may last longer than a second. Returns a function to call at its end. */
  onLongWait(ms: number): () => void;
  /** Called when a claim may be due, although Redis said nothing. */
  onDue(): void;
  /** Called when a cancel was asked for of a job that this worker has claimed. */
  onCancel(runner: QueueRunner): void;
}

/**
 * Waits on the blocking connection for all runners with free slots and no jobs for them. The claims travel right after
 * the blocking command. So an arriving job starts after one step, without another round trip. When a runner gains a
 * slot, a marker on the worker's own key ends the wait, which then starts again. A cancel of a running job is a marker
 * on the same key. The worker listens to it while all slots are busy too.
 */
export class IdleWait implements BackgroundRole {
  private stopped = false;
  private turn = 0;
  private waiting = false;
  /** The monotonic time at which the current wait ends by itself, in ms. */
  private endsAtMs = 0;
  private nudged = false;
  private startedAtMs = Infinity;
  /** The runners whose cancels end the current wait; undefined if it has all. */
  private heard: ReadonlySet<QueueRunner> | undefined;
  private loggedRefusal = false;
  /** The runners whose markers ended a wait, until a claim is sent or the marker is passed on. */
  private readonly woken = new Set<QueueRunner>();
  private readonly rearming: InterruptibleWait;
  private readonly interruptible: InterruptibleWait;
  private readonly storeWait: WorkerWait;
  /** Looks for jobs without a marker; undefined for few runners, which claim after each wait. */
  private readonly looks: IdleLooks | undefined;
  private readonly clock: Clock;
  private ended: Promise<void> | undefined;

  constructor(
    private readonly options: IdleWaitOptions,
    private readonly listener: IdleWaitListener,
  ) {
    const { worker, runners, store, logger } = options;
    this.clock = store.clock;
    this.interruptible = new InterruptibleWait(store.clock);
    this.rearming = new InterruptibleWait(store.clock);
    const calls = runners.map((runner) => runner.calls);
    this.storeWait = store.workerWait(worker, calls, logger);
    this.looks =
      runners.length > MOST_CLAIMED_AT_ONCE
        ? new IdleLooks({
            store,
            runners,
            isIdle,
            turns: options.turns,
            isAtRest: () => this.isAtRest && options.turns?.isAlone === true,
            found: () => listener.onWake(),
          })
        : undefined;
  }

  start(): void {
    this.startedAtMs = this.clock.monotonic();
    this.looks?.start();
    this.ended = this.run();
  }

  /** Makes sure that a runner that became idle or gained a slot is waited for. Passes on markers that no claim follows. */
  check(): void {
    this.woken.forEach((runner) => this.claimOrPass(runner));
    if (!this.hearsTooLittle && (this.options.capacity() <= 0 || !(this.waitsForTooFew || this.waitsTooLong))) {
      return;
    }
    if (this.waiting) {
      this.nudge();
    } else {
      this.rearming.end();
    }
  }

  /**
   * Lets another worker claim, if this one took a marker and a trip filled its last slot. Else a look finds the job. It keeps the
   * marker while claims of other queues hold the slots. A marker that is passed on at once would end the next wait here.
   */
  private claimOrPass(runner: QueueRunner): void {
    const { outlook, capacity, claims } = runner;
    const isFull = claims.slots === 0 && (this.options.hasNoSlot() || capacity.freeForWait === 0);
    if (isFull || !outlook.isWoken) this.woken.delete(runner);
    if (isFull && outlook.isWoken) {
      void runner.passWake(this.options.worker, { timeoutMs: LONGEST_WAIT_MS });
    }
  }

  private get waitsForTooFew(): boolean {
    // Most of thousands are blocked on, which is the cheaper question.
    return this.options.runners.some((runner) => !runner.state.isBlockedOn && isIdle(runner));
  }

  /** True if a claim beside the wait learned of a time before its end. Then a job is due, or a limit lets one start. */
  private get waitsTooLong(): boolean {
    if (!this.waiting) return false;
    const leftMs = this.endsAtMs - this.clock.monotonic();
    return this.options.runners.some((runner) => dueWaitMs(runner.outlook) < leftMs && isIdle(runner));
  }

  /** True if a cancel of a running job would not end the wait. */
  private get hearsTooLittle(): boolean {
    const { heard } = this;
    return (
      heard !== undefined && this.options.runners.some((runner) => runner.attempts.size > 0 && !heard.has(runner))
    );
  }

  /** Ends the wait at once when a runner was closed, because its jobs would only be released. */
  interrupt(): void {
    if (this.waiting) {
      this.nudge();
    }
  }

  /** Ends the wait. Jobs that it still brings go to their runners, which release them. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.interrupt();
    this.interruptible.end();
    this.rearming.end();
    await Promise.all([this.ended, this.looks?.stop()]);
  }

  /** Stops waiting and closes the connection. Its claims are not sent again. */
  abandon(): void {
    this.storeWait.close();
  }

  private nudge(): void {
    if (!this.nudged) {
      this.nudged = true;
      this.storeWait.interrupt();
    }
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.runOnce();
    }
  }

  /** Waits once: for jobs of idle runners, else for a runner that becomes idle. */
  runOnce(): Promise<void> {
    const runners = this.idleRunners;
    return runners.length > 0 ? this.waitFor(runners) : this.waitForIdleRunner();
  }

  /**
   * Resolves when a runner needs a wait. After a moment it listens for cancels of running jobs: a wait is costly if its
   * slots fill quickly.
   */
  private async waitForIdleRunner(): Promise<void> {
    const isRearmed = (await this.rearming.wait(LISTEN_AFTER_MS)) || this.stopped;
    if (!isRearmed && this.isRunningJobs) {
      await this.waitFor(this.idleRunners);
    }
  }

  private get idleRunners(): QueueRunner[] {
    return this.options.capacity() > 0 ? this.options.runners.filter(isIdle) : [];
  }

  /** True if each job sets a marker, so that no poll is needed. */
  private get isAtRest(): boolean {
    const { claimsAlong, turns } = this.options;
    const sinceStartMs = this.clock.monotonic() - this.startedAtMs;
    return (claimsAlong || turns?.isAlone === true) && areAtRest(this.options.runners, sinceStartMs);
  }

  private get isRunningJobs(): boolean {
    return this.options.runners.some(({ attempts }) => attempts.size > 0);
  }

  private async waitFor(runners: QueueRunner[]): Promise<void> {
    const isFew = this.options.claimsAlong && runners.length <= MOST_CLAIMED_AT_ONCE;
    // Permits are not leased for the time of a wait, and the rules of keys are read before a claim.
    const claimsAlong = (runner: QueueRunner) => isFew && !runner.permits && !runner.keys;
    const claimers = runners.filter(claimsAlong);
    const claims = claimers.map((runner) => this.claim(runner, claimers.length));
    const { isAtRest } = this;
    const { turns } = this.options;
    const areFewLooks = turns?.areShared || (turns?.isAlone && isAtRest);
    const looks = this.looks && (claims.length === 0 && areFewLooks ? 'few' : 'each-second');
    const longestMs = longestWaitMs(runners, looks, isAtRest);
    const beganAtMs = this.clock.monotonic();
    const untilDueMs = runners.map(({ permits, outlook }) => dueWaitMs(outlook, permits));
    const waitMs = Math.min(longestMs, ...untilDueMs);
    runners.forEach((runner) => runner.waitBegins());
    this.waiting = true;
    this.endsAtMs = beganAtMs + waitMs;
    this.heard =
      this.looks && new Set(this.options.runners.filter((runner) => !isIdle(runner) || runner.attempts.size > 0));
    // An idle server ends overdue waits only ten times a second (`hz`), so the worker ends this one.
    const ending = waitMs < longestMs ? this.clock.setTimeout(() => this.nudge(), waitMs) : undefined;
    const ended = waitMs > LONGEST_WAIT_MS ? this.listener.onLongWait(waitMs) : undefined;
    const { outcomes, cancelIn, wokenIn, refusal } = await this.storeWait.wait(
      this.inTurn(runners),
      waitMs,
      claims.map(({ call }) => call),
      this.heard && [...this.heard].map((runner) => runner.calls),
    );
    ended?.();
    this.waiting = false;
    this.heard = undefined;
    this.clock.clear(ending);
    const lastedMs = this.clock.monotonic() - beganAtMs + EARLY_MS;
    const end = { wokenIn, isCut: !refusal && lastedMs < waitMs };
    this.nudged = false;
    runners.forEach((runner, i) => {
      runner.waitEnds();
      const isDue = untilDueMs[i]! <= lastedMs;
      if (!claimsAlong(runner) && this.mayHaveJobs(runner, { ...end, isDue })) runner.outlook.expectJobs();
    });
    const woken = runners.find((runner) => runner.calls === wokenIn);
    if (woken && claimsAlong(woken)) {
      woken.outlook.wakesClaims();
    } else if (woken) {
      woken.outlook.wake();
      this.woken.add(woken);
    }
    claims.forEach((claim, i) => claim.done(outcomes[i]!));
    const cancelled = this.options.runners.find((runner) => runner.calls === cancelIn);
    if (cancelled) {
      this.listener.onCancel(cancelled);
    }
    this.listener.onWake();
    if (refusal) {
      await this.afterRefusal(refusal);
    }
  }

  /**
   * Returns whether a wait may have ended for a job of a queue. Then the queue was woken, or its time has come. A few queues are polled
   * once a wait has lasted its time. A wait that this worker cut is none. Else two queues would end each other's waits.
   */
  private mayHaveJobs(runner: QueueRunner, { wokenIn, isCut, isDue }: WaitEnd): boolean {
    const { calls, permits } = runner;
    if (permits) {
      return calls === wokenIn || permits.nextDueInMs === 0;
    }
    return calls === wokenIn || isDue || (this.looks === undefined && (!isCut || runner.isOverdueForPoll));
  }

  /** Waits here, where the server does not let us wait there. */
  private async afterRefusal({ error, passes }: { error: Error; passes: boolean }): Promise<void> {
    if (passes) {
      return this.rest(PAUSE_MS);
    }
    if (!this.loggedRefusal) {
      this.loggedRefusal = true;
      this.options.logger.warn(
        `Redis refuses the blocking wait for jobs: ${error.message} Polling once a second instead${remedyOf(error)}.`,
      );
    }
    return this.rest(LONGEST_WAIT_MS);
  }

  private async rest(ms: number): Promise<void> {
    if (!this.stopped) {
      await this.interruptible.wait(ms);
    }
  }

  /** Rotates the queues for each wait, because the store serves the first queue with a job. */
  private inTurn(runners: QueueRunner[]): StoreCalls[] {
    this.turn = (this.turn + 1) % Math.max(1, runners.length);
    const turned = [...runners.slice(this.turn), ...runners.slice(0, this.turn)];
    return turned.map((runner) => runner.calls);
  }

  private claim(runner: QueueRunner, sharers: number) {
    const count = Math.min(runner.capacity.freeForWait, 500);
    const { worker } = this.options;
    const { beginAtOnce: atOnce } = runner.capacity;
    const askedAtMs = this.clock.monotonic();
    const { call, conclude } = claimFor(runner, { worker, stream: 'wait', count, atOnce, askedAtMs, sharers });
    const done = (outcome: Settled<ClaimReply>) => {
      conclude(outcome);
      if (!outcome.ok) {
        runner.rest(LONGEST_WAIT_MS);
      }
    };
    return { call, done };
  }
}

/** Returns what to do, if the message of the error does not say so. */
function remedyOf(error: Error): string {
  return error instanceof RedisKeyTypeError ? '' : '; grant +bzpopmin';
}

/** Returns how long to wait for the next due job, in ms. Permits that a queue needs have a time of their own. */
function dueWaitMs(
  outlook: ClaimOutlook,
  { nextDueInMs = Infinity }: { readonly nextDueInMs?: number | undefined } = outlook,
): number {
  return Math.max(nextDueInMs > 0 ? outlook.shortestDueMs : SHORTEST_WAIT_MS, nextDueInMs);
}

/** Returns whether a runner has a free slot and no job for it. */
export function isIdle(runner: QueueRunner): boolean {
  return !runner.outlook.mayHaveJobs && runner.capacity.freeForWait > 0;
}

/** The interval of the looks, in ms, unless the worker is at rest. */
const LOOKS_EVERY_MS = 1_000;

/** The most workers of a fleet that look one after another. One that is left looks after as many intervals at the latest. */
const MOST_TURNS = 10;

/** The places of jobs that a claim could find. */
const CLAIMABLE: readonly Place[] = ['pending', 'prioritized', 'due', 'groupDepths'];

/** The places of many queues. A client of the Redis pattern leaves its jobs in `pending`, so that is looked at more often. */
const IN_TURN: readonly (readonly Place[])[] = [['pending'], ['prioritized', 'due', 'groupDepths']];

const LOOK_LIMIT = { timeoutMs: 2_000 };

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
    const looks = await this.waiting.store.queues.look(calls, this.places, LOOK_LIMIT);
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
      this.timer = this.waiting.store.clock.setInterval(() => void this.runOnce(), LOOKS_EVERY_MS);
    }
  }

  private lookInTurn(turns: FleetTurns): void {
    const look = () => {
      void this.runOnce();
      this.lookInTurn(turns);
    };
    const { store, isAtRest } = this.waiting;
    const intervalMs = isAtRest?.() ? LONGEST_REST_MS : LOOKS_EVERY_MS;
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
    const { store, turns } = this.waiting;
    if (!store.isReady) {
      return;
    }
    const isShared = turns?.areShared === true;
    const looks = this.looks.map((look) => (isShared ? look.lookForFleet() : look.look()));
    const found = (await Promise.all(looks)).flat();
    const claimable = found.filter((runner) => this.waiting.isIdle(runner));
    claimable.forEach(({ outlook }) => outlook.expectJobs());
    if (claimable.length > 0) {
      this.waiting.found();
    }
    if (isShared) {
      await turns.wakeOthers(found, LOOKS_EVERY_MS);
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

/**
 * The longest wait while a job may come without a marker, in ms. The worker then polls. A producer of the Redis pattern
 * sets none, and a limit may open while another worker waits for it.
 */
const LONGEST_WAIT_MS = 1_000;

/** The longest wait at rest with claims behind it, in ms. It is also the time between two looks of a worker with many queues. */
const LONGEST_REST_MS = 10_000;

/** The longest wait of a worker with many queues, in ms. It looks for jobs without a marker in other ways, see IdleLooks. */
const LONGEST_WAIT_FOR_MANY_MS = 5_000;

/** The longest wait of such a worker at rest, or while other workers look for jobs too, in ms. */
const LONGEST_LOOKED_WAIT_MS = 15_000;

/**
 * The longest wait, as a share of the visibility timeout. A job of a wait counts as claimed when the wait began. A heartbeat
 * comes each third, and would extend an older claim in flight.
 */
const WAIT_SHARE = 0.32;

/** How long a worker does not rest after its start, in ms. The workers that it replaces may have died with a marker. */
const RESTLESS_START_MS = 30_000;

/**
 * Returns whether each job for these runners sets a marker. Not so soon after the start, and not behind
 * limits or beside jobs of other names. Not once a job came from a producer of the Redis pattern.
 */
export function areAtRest(runners: readonly QueueRunner[], sinceStartMs: number): boolean {
  return (
    sinceStartMs >= RESTLESS_START_MS &&
    runners.every(({ outlook, names }) => !(outlook.isLimited || outlook.meetsForeign || names.only))
  );
}

/**
 * Returns the longest time to wait for jobs of these runners, in ms.
 *
 * @param looks how often the worker looks for jobs without a marker; undefined if the wait must end for that. Few looks need
 *   a wait without claims behind it. Such a claim would be old at its job.
 */
export function longestWaitMs(
  runners: readonly QueueRunner[],
  looks: 'each-second' | 'few' | undefined,
  isAtRest: boolean,
): number {
  if (looks === 'few') {
    return LONGEST_LOOKED_WAIT_MS;
  }
  const shares = runners.map(({ queue }) => WAIT_SHARE * queue.options.visibilityMs);
  const longestMs = looks ? LONGEST_WAIT_FOR_MANY_MS : isAtRest ? LONGEST_REST_MS : LONGEST_WAIT_MS;
  return Math.min(longestMs, ...shares);
}
