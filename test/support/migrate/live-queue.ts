// A live queue whose mover dies again and again. It has producers and workers at both places, and rules that hold at the end.
import { expect } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../faults/wait.js';
import { startWorker } from '../worker/workers.js';
import { idsIn, keysOfMove } from './queue-scene.js';

const CHUNK = 100;
const GROUPS = 7;

/** Returns whether a job fails for good. */
const failsForGood = (i: number) => i % 50 === 1;
/** Returns whether its first attempt fails. */
const failsOnce = (i: number) => i % 11 === 3;

const delayThere = (i: number) => (i % 7 === 0 ? { delay: 200 } : {});

const optionsOf = (i: number, group: string | undefined) => {
  return {
    id: `j${i}`,
    name: 'work',
    maxAttempts: failsForGood(i) ? 1 : 4,
    backoff: 0,
    ...(group !== undefined && { group }),
    ...(group === undefined && i % 7 === 0 && { delayMs: 200 + (i % 5) * 100 }),
    ...(group === undefined && i % 5 === 0 && { priority: 1 + (i % 3) }),
    ...(i % 13 === 5 && group === undefined && { unique: { key: `u${i}`, for: 'unfinished' as const } }),
  };
};

/** The jobs of a live queue, and where each has run. */
export class LiveQueue {
  readonly runs = new Map<string, string[]>();
  private readonly order = new Map<string, number[]>();
  private readonly failed = new Set<string>();
  private batches = 0;
  count = 0;

  /** @param kinds plain: its jobs have neither groups nor batches, which BullMQ has not */
  constructor(private readonly kinds: 'all' | 'plain' = 'all') {}

  /** Starts a worker at a place. */
  async work(queue: JobQueue, place: string, concurrency: number): Promise<void> {
    await startWorker([
      {
        queue,
        concurrency,
        handlers: {
          work: (job: { id: string; attempt: number }) => this.run(job, place),
          part: (job: { id: string }) => this.note(job.id, place),
          last: (job: { id: string; payload: unknown }) => this.note(`last of ${String(job.payload)}`, place),
        },
      },
    ]);
  }

  /** Enqueues jobs until their count is `end`. Every 500th brings a batch of three with a follow-up. */
  async add(queue: JobQueue, end: number): Promise<void> {
    await queue.limits.set({ groups: { maxRunning: 1 } });
    while (this.count < end) {
      const chunk = Array.from({ length: Math.min(CHUNK, end - this.count) }, (_, k) => this.count + k);
      this.count += chunk.length;
      await queue.enqueueMany(chunk.map((i) => ({ payload: { i }, ...optionsOf(i, this.groupOf(i)) })));
      if (this.count % 500 === 0 && this.kinds === 'all') {
        await this.addBatch(queue);
      }
    }
  }

  /** Adds plain jobs to the other library until their count is `end`. */
  async addBy(add: (id: string, options: object) => Promise<unknown>, end: number): Promise<void> {
    while (this.count < end) {
      const chunk = Array.from({ length: Math.min(CHUNK, end - this.count) }, (_, k) => this.count + k);
      this.count += chunk.length;
      await Promise.all(
        chunk.map((i) => add(`j${i}`, { attempts: failsForGood(i) ? 1 : 4, backoff: 1, ...delayThere(i) })),
      );
    }
  }

  private async addBatch(queue: JobQueue): Promise<void> {
    const n = this.batches++;
    const batch = queue.batch({ then: { name: 'last', payload: n } });
    await batch.addMany('part', [0, 1, 2].map((k) => ({ payload: k, id: `b${n}-${k}` }))); // prettier-ignore
    await batch.seal();
  }

  /** Waits until all jobs have ended, and checks that each has run once, in the order of its group. */
  async expectEach(places: { from: JobQueue; to: JobQueue }, timeoutMs: number): Promise<void> {
    const expected = this.count + 4 * this.batches - this.failing.length;
    await eventually(async () => this.runs.size >= expected && this.failed.size === this.failing.length, {
      timeoutMs,
    });
    expect([...this.runs].filter(([, where]) => where.length !== 1)).toEqual([]);
    expect(this.runs.size).toBe(expected);
    for (const indexes of this.order.values()) {
      expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    }
    await eventually(async () => (await idsIn(places.from)).length === 0);
    expect(await keysOfMove(places.from)).toEqual([]);
  }

  get failing(): string[] {
    return Array.from({ length: this.count }, (_, i) => i).filter(failsForGood).map((i) => `j${i}`); // prettier-ignore
  }

  /** Returns how many jobs ran at a place. */
  ranAt(place: string): number {
    return [...this.runs.values()].filter((where) => where.includes(place)).length;
  }

  private groupOf(i: number): string | undefined {
    return i % 3 === 0 && this.kinds === 'all' ? `g${i % GROUPS}` : undefined;
  }

  /** Runs a job. @throws Error if its attempt must fail */
  run(job: { id: string; attempt: number }, place: string): void {
    const i = Number(job.id.slice(1));
    if (failsForGood(i)) {
      this.failed.add(job.id);
      throw new Error('as planned');
    }
    if (failsOnce(i) && job.attempt === 1) {
      throw new Error('once');
    }
    const group = this.groupOf(i);
    if (group !== undefined && !failsOnce(i)) {
      this.order.set(group, [...(this.order.get(group) ?? []), i]);
    }
    this.note(job.id, place);
  }

  private note(id: string, place: string): void {
    this.runs.set(id, [...(this.runs.get(id) ?? []), place]);
  }
}
