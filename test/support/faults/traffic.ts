// A producer that continues through faults, and checks that no acknowledged job is lost.
import { afterEach, expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { ScriptRunner } from '#queue/transport/script-runner.js';
import { violations } from '../invariants/invariants.js';
import { eventually, sleep } from './wait.js';
import { inside } from '../queue/inside.js';

const running = new Set<Traffic>();

afterEach(() => {
  running.forEach((traffic) => traffic.halt());
  running.clear();
});

interface TrafficOptions {
  /** The pause between two jobs, in ms. */
  everyMs?: number;
  /** Resolves when the latest acknowledged writes are safe. By default nothing is waited for. */
  secured?: () => Promise<boolean>;
  /** The prefix of the ids. Default `t`. */
  prefix?: string;
  enqueueOptions?: (i: number) => EnqueueOptions;
}

/** Enqueues jobs with fixed ids, one after the other, and repeats each until it is acknowledged. */
export class Traffic {
  readonly acknowledged: string[] = [];
  /** Errors of calls, each of which was repeated with the same id. */
  readonly refusals: string[] = [];
  private stopped = false;
  private halted = false;
  private readonly running: Promise<void>;

  constructor(
    private readonly queue: JobQueue,
    private readonly options: TrafficOptions = {},
  ) {
    running.add(this);
    this.running = this.run();
  }

  /** Resolves when this many more jobs are acknowledged. */
  async more(count: number, timeoutMs = 15_000): Promise<void> {
    const goal = this.acknowledged.length + count;
    const what = () => `${count} more acknowledged jobs; refusals: ${this.refusals.slice(-3).join(' | ')}`;
    await eventually(() => this.acknowledged.length >= goal, { timeoutMs, what: what() });
  }

  /** Stops enqueues and repeats. */
  halt(): void {
    this.stopped = true;
    this.halted = true;
  }

  /** Stops enqueues; resolves when the last is acknowledged. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  /**
   * Stops, waits for the last jobs, and checks the final state: each acknowledged job has completed, and the invariants
   * hold. `observer` reads the current master.
   */
  async settle(observer: Redis, timeoutMs = 15_000): Promise<void> {
    await this.stop();
    const scripts = await inside(this.queue).scripts();
    const runner = new ScriptRunner(observer);
    const left = async () => {
      const { pending, scheduled, processing } = await runner.run(scripts.stats());
      return pending + scheduled + processing;
    };
    await eventually(async () => (await left()) === 0, { timeoutMs, what: 'an empty queue' });
    const states = await Promise.all(
      this.acknowledged.map(async (id) => (await observer.hget(scripts.keys.job(id), 'status')) ?? 'gone'),
    );
    expect(this.acknowledged.filter((_, i) => states[i] !== 'completed')).toEqual([]);
    expect(await violations(observer, scripts)).toEqual([]);
  }

  private async run(): Promise<void> {
    const { everyMs = 5, prefix = 't', secured = () => Promise.resolve(true) } = this.options;
    for (let i = 0; !this.stopped; i++) {
      const id = `${prefix}${i}`;
      do {
        await this.acknowledge(id, i);
      } while (!this.halted && !(await secured().catch(() => false)));
      this.acknowledged.push(id);
      await sleep(everyMs);
    }
  }

  private async acknowledge(id: string, i: number): Promise<void> {
    while (!this.halted) {
      try {
        await this.queue.enqueue({ i }, { ...this.options.enqueueOptions?.(i), id });
        return;
      } catch (error) {
        if (!(error instanceof EnqueueError)) throw error;
        this.refusals.push(`${error.outcome}: ${error.message}`);
        await sleep(20);
      }
    }
  }
}
