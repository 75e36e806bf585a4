import { createHash } from 'node:crypto';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { WorkerRecord } from '../../queue/model/worker-record.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { Place } from '../../queue/validation/key-table.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { WaitRoom } from './process-capacity.js';

/** The most queues in which a look wakes another worker. The next look of the fleet begins at a further queue. */
const MOST_WOKEN = 20;

const MARKER: readonly Place[] = ['wake'];

/** A turn that is nearer than this share of its length is the one that has just been used. */
const JUST_USED = 0.1;

const LIMIT = { timeoutMs: 2_000 };

interface Member extends Pick<WaitRoom, 'capacity'> {
  readonly worker: string;
  readonly store: QueueStore;
  readonly runners: readonly QueueRunner[];
}

/**
 * The turns of a worker in the looks of its fleet. A fleet is the workers of one server with the same queues and handlers.
 * The reply to its own announcement says which workers live. From that each derives its place among their ids, so no call
 * is made for the turns. Workers whose lists differ for a while may share a turn or leave one out. Each still looks once
 * in a round.
 */
export class FleetTurns {
  /** The runner whose queue has the list of workers. */
  readonly keeper: QueueRunner;
  private readonly digest: string;
  private looks = true;
  private workers = 1;
  private alone = false;
  private place = 0;
  /** The time of the server minus that of the monotonic clock; undefined before a look. */
  private serverAheadMs: number | undefined;

  constructor(private readonly member: Member) {
    const sorted = member.runners.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.keeper = sorted[0]!;
    const lines = sorted.map(({ name, limits }) => [name, ...limits.all.map((each) => each.name).toSorted()]);
    this.digest = createHash('sha1').update(JSON.stringify(lines)).digest('hex').slice(0, 16);
  }

  /**
   * A digest of the names of the queues and handlers. Workers that announce the same one are a fleet. Undefined once this
   * one looks no more.
   */
  get fleet(): string | undefined {
    return this.looks ? this.digest : undefined;
  }

  /** True if other workers look too, so that this one looks at all queues when its turn comes. Else it looks by itself. */
  get areShared(): boolean {
    return this.workers > 1 && this.serverAheadMs !== undefined;
  }

  /** True if no other worker of its first queue lives. So no marker is lost by the death of one. */
  get isAlone(): boolean {
    return this.alone;
  }

  /**
   * Returns the time until this worker looks next, in ms.
   *
   * @param lengthMs the time between two looks of the fleet
   * @param mostTurns the most turns in a round. So one worker that is left looks after that many lengths at the latest.
   */
  untilNext(lengthMs: number, mostTurns: number): number {
    if (!this.areShared) {
      return lengthMs;
    }
    const turns = Math.min(this.workers, mostTurns);
    const roundMs = turns * lengthMs;
    const ms = roundMs - ((this.serverMs - (this.place % turns) * lengthMs) % roundMs);
    return ms < JUST_USED * lengthMs ? ms + roundMs : ms;
  }

  private get serverMs(): number {
    return this.member.store.clock.monotonic() + this.serverAheadMs!;
  }

  /** Ends the turns of this worker. The others learn it from its next announcement, which goes on while its jobs run. */
  leave(): void {
    this.looks = false;
  }

  /** Notes the time of the server, by which the turns are. */
  noteTime(atMs: number): void {
    this.serverAheadMs = atMs - this.member.store.clock.monotonic();
  }

  /** Notes which workers live. After an error the worker looks by itself. */
  noteWorkers(listed: readonly WorkerRecord[] | Error): void {
    const { store, worker } = this.member;
    if (listed instanceof Error) {
      const what = `Could not read the workers of queue "${this.keeper.name}"; this worker looks for jobs by itself`;
      SafeLogger.of(store.logger).debug(what, listed);
    }
    const live = listed instanceof Error ? [] : listed;
    const others = live.filter(({ id, fleet }) => fleet === this.digest && id !== worker);
    this.workers = others.length + 1;
    this.alone = !(listed instanceof Error) && live.every(({ id }) => id === worker);
    this.place = others.filter(({ id }) => id < worker).length;
  }

  /**
   * Wakes another worker for jobs that this one has found and cannot claim. A marker that is still set shows that no worker
   * waits for its queue. So a busy fleet wakes nobody again and again. Queues whose wakes lead to no claim, such as paused
   * ones, stay unmarked. So each look of the fleet begins at another queue.
   *
   * @param lengthMs the time between two looks of the fleet
   */
  async wakeOthers(found: readonly QueueRunner[], lengthMs: number): Promise<void> {
    const { store, capacity } = this.member;
    const isFull = capacity() <= 0;
    const full = [...new Set(found)].filter((runner) => isFull || runner.capacity.freeForWait === 0);
    if (full.length === 0) {
      return;
    }
    const looks = await store.queues.look(
      full.map(({ calls }) => calls),
      MARKER,
      LIMIT,
    );
    const unmarked = full.filter((_, i) => {
      const look = looks[i]!;
      return look.ok && !look.reply.found.has('wake');
    });
    const from = (Math.round(this.serverMs / lengthMs) * MOST_WOKEN) % Math.max(1, unmarked.length);
    [...unmarked.slice(from), ...unmarked.slice(0, from)]
      .slice(0, MOST_WOKEN)
      .forEach((runner) => void runner.passWake(this.member.worker, LIMIT));
  }
}
