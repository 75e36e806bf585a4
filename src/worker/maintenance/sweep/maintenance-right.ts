import { createHash } from 'node:crypto';
import type { JobQueue } from '../../../queue/job-queue.js';
import { limitOf } from '../../../queue/runtime/bounds.js';
import type { QueueStore } from '../../../queue/store/queue-store.js';
import type { StoreCalls } from '../../../queue/store/store-calls.js';

/** The longest time that a dead holder delays maintenance beyond an interval, in ms. */
const LONGEST_DELAY_MS = 30_000;

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
}

/**
 * The right of this process to maintain its queues, for each server by itself. Processes with the same queues share one
 * right, so that one of them maintains for all. If their intervals differ, each interval has its own. The holder takes it again at each round. If the holder dies or freezes, the right
 * ends, and the next process that asks for it has it.
 */
export class MaintenanceRight {
  private readonly sets = new Map<string, KnownSet>();
  private readonly process: string;

  /** @param intervalMs how often this process maintains its queues */
  constructor(
    private readonly store: QueueStore,
    private readonly intervalMs: number,
  ) {
    this.process = store.clock.randomId();
  }

  /** Takes or keeps the right to maintain the queues of a server. Returns false if another process has it. */
  holds(server: string, queues: readonly OpenQueue[]): Promise<boolean> {
    const { keeper, digest } = this.setOf(server, queues);
    const lengthMs = this.intervalMs + Math.min(this.intervalMs, LONGEST_DELAY_MS);
    return this.store.exec(keeper.calls.sweep.hold(digest, this.process, lengthMs), limitOf(this.intervalMs));
  }

  /** Gives all rights back, so that another process need not wait for their end. An error leaves them to their end. */
  async giveBack(): Promise<void> {
    const limit = { timeoutMs: 1_000 };
    const sets = this.store.isReady ? [...this.sets.values()] : [];
    this.sets.clear();
    await Promise.allSettled(
      sets.map(({ keeper, digest }) => this.store.exec(keeper.calls.sweep.hold(digest, this.process, 0), limit)),
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
    const set = { queues: queues.map(({ queue }) => queue), digest, keeper: sorted[0]! };
    this.sets.set(server, set);
    return set;
  }
}
