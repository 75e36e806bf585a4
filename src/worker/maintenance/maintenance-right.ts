// Decides about a round of maintenance: which process makes it, which queues it looks at, and which it sweeps.
import { createHash } from 'node:crypto';
import type { JobQueue } from '../../queue/job-queue.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import type { Timer, Clock } from '../../queue/runtime/clock.js';
import { keptArray } from '../../queue/runtime/collections.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { Look } from '../../queue/store/queues-verbs.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { type Place, placesSwept } from '../../queue/validation/key-table.js';
import type { AskingTurns, Watched } from '../../queue/verbs/sweep.js';

/** The longest time that a dead holder delays maintenance beyond an interval, in ms. */
const LONGEST_DELAY_MS = 30_000;

/** The most turns from one ask of a process without the right to its next. */
const MOST_TURNS = 10;

/** The same after a first ask. The other turns may be those of a fleet that was killed before. */
const MOST_FIRST_TURNS = 3;

/** The longest time of these turns, in ms. The only process that is left takes the right within it. */
const LONGEST_ROUND_MS = 50_000;

/** The most queues that the call for the right looks at. More of them share a look whose keys are built once. */
const MOST_LOOKED_ALONG = 16;

/** The outcome of a call for the right. */
export interface HeldRight {
  readonly hasRight: boolean;
  /** The time of the server, in ms, if the call found all queues without work. */
  readonly idleAtMs?: number | undefined;
  /** The time until the next round if this one finds no work, in ms. */
  readonly restMs?: number;
}

/** A queue whose calls are known. */
export interface OpenQueue {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
}

/** The queues of one server, and the digest of their names and the interval. */
interface KnownSet {
  readonly queues: readonly JobQueue[];
  readonly digest: string;
  /** The queue that keeps the right: that of the first name, so that all processes take the same. */
  readonly keeper: OpenQueue;
  /** The time of the turn of this process to ask, by the monotonic clock; undefined to ask at each round. */
  turnAtMs?: number | undefined;
  timer?: Timer | undefined;
  /** True if no other process waited when this one asked last. */
  isAlone?: boolean;
}

/**
 * The right of this process to maintain its queues, for each server by itself. Processes with the same queues share one
 * right, so that one of them maintains for all. If their intervals differ, each interval has its own. The holder takes it
 * again at each round. If the holder dies or freezes, the right ends. Of the other processes one asks in each interval,
 * and the next one that asks has the right. So a fleet asks little more often than one process.
 */
export class MaintenanceRight {
  private readonly sets = new Map<string, KnownSet>();
  private readonly process: string;
  private readonly mostTurns: number;

  /**
   * @param intervalMs how often this process maintains its queues
   * @param onTurn starts a round of a server, because it is the turn of this process to ask
   */
  constructor(
    private readonly store: QueueStore,
    private readonly intervalMs: number,
    private readonly onTurn: (server: string) => void,
  ) {
    this.process = store.clock.randomId();
    this.mostTurns = Math.max(1, Math.min(MOST_TURNS, Math.floor(LONGEST_ROUND_MS / intervalMs)));
  }

  /**
   * Takes or keeps the right to maintain the queues of a server. Another process may have it. Until the turn of this process
   * to ask again it makes no call. A holder that was alone looks for work with the same call, and may rest after it.
   *
   * @param restMs the time until its next round if it finds no work
   */
  async holds(server: string, queues: readonly OpenQueue[], restMs: number): Promise<HeldRight> {
    const set = this.setOf(server, queues);
    if (this.waits(set, server)) {
      return { hasRight: false };
    }
    const untilNextMs = set.isAlone ? restMs : this.intervalMs;
    const lengthMs = untilNextMs + Math.min(this.intervalMs, LONGEST_DELAY_MS);
    const looked =
      set.isAlone && this.looksAlong(queues)
        ? { queues: queues.map(({ calls }) => calls), places: LOOKED_AT }
        : undefined;
    const call = set.keeper.calls.sweep.hold({
      set: set.digest,
      process: this.process,
      lengthMs,
      turns: this.turnsOf(set),
      looked,
    });
    const { hasRight, turnInMs, isAlone, idleAtMs } = await this.store.exec(call, limitOf(this.intervalMs));
    set.turnAtMs = hasRight ? undefined : this.store.clock.monotonic() + turnInMs;
    set.isAlone = isAlone;
    return { hasRight, idleAtMs, restMs: isAlone ? untilNextMs : this.intervalMs };
  }

  /** Returns whether the call for the right also looks for work. In a Cluster the keys of several queues are in several slots. */
  private looksAlong(queues: readonly OpenQueue[]): boolean {
    return queues.length <= (this.store.isSharded ? 1 : MOST_LOOKED_ALONG);
  }

  private turnsOf({ turnAtMs }: KnownSet): AskingTurns {
    const most = turnAtMs === undefined ? Math.min(MOST_FIRST_TURNS, this.mostTurns) : this.mostTurns;
    return { intervalMs: this.intervalMs, most };
  }

  /** Returns whether the turn of this process is yet to come. If it comes before the next round, it starts a round by itself. */
  private waits(set: KnownSet, server: string): boolean {
    const { clock } = this.store;
    const waitMs = (set.turnAtMs ?? -Infinity) - clock.monotonic();
    if (waitMs <= 0) {
      return false;
    }
    if (waitMs < this.intervalMs) {
      clock.clear(set.timer);
      set.timer = clock.setTimeout(() => this.store.isReady && this.onTurn(server), Math.ceil(waitMs));
      set.timer.unref();
    }
    return true;
  }

  /** Gives all rights back, so that another process need not wait for their end. An error leaves them to their end. */
  async giveBack(): Promise<void> {
    const limit = { timeoutMs: 1_000 };
    this.sets.forEach(({ timer }) => this.store.clock.clear(timer));
    const sets = this.store.isReady ? [...this.sets.values()] : [];
    this.sets.clear();
    await Promise.allSettled(
      sets.map((set) =>
        this.store.exec(
          set.keeper.calls.sweep.hold({
            set: set.digest,
            process: this.process,
            lengthMs: 0,
            turns: this.turnsOf(set),
          }),
          limit,
        ),
      ),
    );
  }

  private setOf(server: string, queues: readonly OpenQueue[]): KnownSet {
    const known = this.sets.get(server);
    if (known?.queues.length === queues.length && queues.every(({ queue }, i) => known.queues[i] === queue)) {
      return known;
    }
    const sorted = queues.toSorted((a, b) => (a.queue.name < b.queue.name ? -1 : 1));
    const names = sorted.map(({ queue }) => queue.name);
    const text = [this.intervalMs, ...names].join('\n');
    const digest = createHash('sha1').update(text).digest('hex').slice(0, 16);
    this.store.clock.clear(known?.timer);
    const set: KnownSet = { queues: queues.map(({ queue }) => queue), digest, keeper: sorted[0]! };
    this.sets.set(server, set);
    return set;
  }
}

/** The number of queues that share a call. Of more queues, the empty ones take turns. */
const MOST_WITHOUT_TURNS = 325;

/** The most rounds from one look at an empty queue to the next. */
const MOST_ROUNDS = 3;

/**
 * Chooses which queues of a server each round looks at. With many queues an empty one has its turn each third round. That
 * is soon enough: a claim that comes in between does not expire before its visibility timeout.
 */
export class LookRounds {
  private round = 0;
  /** True if the last round found no work. */
  private hasRested = false;
  /** The time until which rounds are left out, by the monotonic clock. */
  private restsUntilMs = -Infinity;
  /** The queues of the last rounds, so that the calls for them are built once. */
  private readonly kept: (readonly StoreCalls[])[] = [];
  private readonly withWork = new WeakSet<JobQueue>();

  /** @param intervalMs the interval of the rounds */
  constructor(private readonly intervalMs: number) {}

  /** Looks at all queues in the next round, because another process maintained them until then. */
  restart(): void {
    this.round = 0;
    this.hadWork();
  }

  /**
   * Returns the time until the round after this one if it finds no work, in ms. It is an interval if a claim could expire
   * before. So it is after a round with work, because its right to maintain must not last long.
   */
  restMs(queues: readonly OpenQueue[]): number {
    const allowsRest = this.hasRested && queues.every(({ queue }) => this.roundsOf(queue) === MOST_ROUNDS);
    return allowsRest ? MOST_ROUNDS * this.intervalMs : this.intervalMs;
  }

  /** Returns whether a round without work was so recent that this one is left out. */
  rests(nowMs: number): boolean {
    return nowMs < this.restsUntilMs;
  }

  /** Notes the end of a round without work. @param restMs the time until the next one */
  wasIdle(nowMs: number, restMs: number): void {
    this.hasRested = true;
    this.restsUntilMs = restMs > this.intervalMs ? nowMs + restMs - this.intervalMs / 2 : -Infinity;
  }

  /** Notes the end of a round with work. */
  hadWork(): void {
    this.hasRested = false;
    this.restsUntilMs = -Infinity;
  }

  /** Notes whether a queue may have work, also after a look that failed. Then it is looked at in each round. */
  note(queue: JobQueue, mayHaveWork: boolean): void {
    if (mayHaveWork) {
      this.withWork.add(queue);
    } else {
      this.withWork.delete(queue);
    }
  }

  /** Returns the queues of the next round, and their calls. @param all true for a round that looks at all of them */
  next(queues: readonly OpenQueue[], all: boolean): { looked: readonly OpenQueue[]; calls: readonly StoreCalls[] } {
    const round = this.round++;
    const looked =
      all || round === 0 || queues.length <= MOST_WITHOUT_TURNS
        ? queues
        : queues.filter(({ queue }, i) => this.withWork.has(queue) || (i + round) % this.roundsOf(queue) === 0);
    const calls = looked.map((each) => each.calls);
    const kept = keptArray(this.kept[round % MOST_ROUNDS], calls);
    this.kept[round % MOST_ROUNDS] = kept;
    return { looked, calls: kept };
  }

  /** Returns a number of rounds that leaves live workers a heartbeat before a claim can expire. */
  private roundsOf({ options }: JobQueue): number {
    return Math.max(1, Math.min(MOST_ROUNDS, Math.floor(options.visibilityMs / 2 / this.intervalMs)));
  }
}

const WORK_PLACES = placesSwept('round');
const SELDOM_PLACES = placesSwept('minute');

/** The places that a round looks at. A look for `due` finds `scheduled` too. */
export const LOOKED_AT: readonly Place[] = [
  ...WORK_PLACES,
  ...SELDOM_PLACES.filter((place) => place !== 'scheduled'),
];

/** The places of data that become old. */
export const REMAINS = placesSwept('remains');

/** The interval at which a queue with nothing else is swept, in ms. */
const SELDOM_MS = 60_000;

/** The interval of the looks for other remains, in ms. */
const REMAINS_MS = 600_000;

/** The interval at which a queue is swept that seems empty, in ms. Announcements of dead workers may be left. */
const EMPTY_MS = 86_400_000;

/** What a look shows of the server. */
interface LookNotes {
  /** The time between two looks that means that the server was away, in ms. */
  gapMs: number;
  /** What stands for the connection; see QueueStore. */
  connection: object | undefined;
  /** True if the reply took so long that a claim may have expired meanwhile. */
  isLate: boolean;
}

interface NotedLooks extends Pick<Watched, 'fromMs' | 'toMs'> {
  connection: object | undefined;
  /** When an outage was met last, by the monotonic clock. */
  outageAt: number | undefined;
}

/** Decides by looks which queues a round of maintenance sweeps. It holds no queue that the process has released. */
export class DueQueues {
  private readonly sweptAt = new WeakMap<JobQueue, number>();
  private readonly looks = new WeakMap<JobQueue, NotedLooks>();
  /** The time of the last look for remains, by server. */
  private readonly remainsAt = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  /** Returns whether the round is to look for remains too. */
  looksForRemains(server: string): boolean {
    const now = this.clock.monotonic();
    if (now - (this.remainsAt.get(server) ?? -Infinity) < REMAINS_MS) {
      return false;
    }
    this.remainsAt.set(server, now);
    return true;
  }

  /** Returns whether a queue is to be swept now. @param remains the look for remains, if the round had one */
  isDue(queue: JobQueue, look: Look, remains: Look | undefined): boolean {
    const now = this.clock.monotonic();
    const sweptAt = this.sweptAt.get(queue);
    const isDue =
      WORK_PLACES.some((place) => look.found.has(place)) ||
      (SELDOM_PLACES.some((place) => look.found.has(place)) && now - (sweptAt ?? -Infinity) >= SELDOM_MS) ||
      (remains?.found.size ?? 0) > 0 ||
      now - (sweptAt ?? now) >= EMPTY_MS;
    if (isDue) {
      this.sweptAt.set(queue, now);
    } else if (sweptAt === undefined) {
      this.sweptAt.set(queue, now - this.clock.random() * EMPTY_MS); // not all queues in one round
    }
    return isDue;
  }

  /**
   * Notes a look. Returns the looks that came without a gap until this one, and how long ago an outage was met. An outage
   * shorter than a gap shows by a new connection, or by a late reply.
   */
  noteLook(queue: JobQueue, { atMs }: Look, { gapMs, connection, isLate }: LookNotes): Watched {
    const now = this.clock.monotonic();
    const before = this.looks.get(queue);
    const isUnbroken = before !== undefined && atMs >= before.toMs && atMs - before.toMs <= gapMs;
    const isOutage = isLate || (before !== undefined && before.connection !== connection);
    const outageAt = isOutage ? now : before?.outageAt;
    const [fromMs, toMs] = [isUnbroken ? before.fromMs : atMs, atMs];
    this.looks.set(queue, { fromMs, toMs, connection, outageAt });
    return { fromMs, toMs, ...(outageAt !== undefined && { sinceOutageMs: Math.round(now - outageAt) }) };
  }
}
