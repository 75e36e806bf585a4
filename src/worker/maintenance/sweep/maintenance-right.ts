import { createHash } from 'node:crypto';
import type { JobQueue } from '../../../queue/job-queue.js';
import { limitOf } from '../../../queue/runtime/bounds.js';
import type { Timer } from '../../../queue/runtime/clock.js';
import type { QueueStore } from '../../../queue/store/queue-store.js';
import type { StoreCalls } from '../../../queue/store/store-calls.js';
import type { AskingTurns } from '../../../queue/verbs/sweep.js';
import { LOOKED_AT } from './due-queues.js';

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
