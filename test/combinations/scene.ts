// What a driver gives to the columns of a table: one job in one queue, and all that can be done to it.
import { expect } from '@jest/globals';
import type { DeadLetters } from '../../src/queue/dead-letters.js';
import type { JobHandle } from '../../src/queue/job-handle.js';
import type { JobQueue } from '../../src/queue/job-queue.js';
import type { EnqueueOptions } from '../../src/queue/new-job.js';
import type { Schedules } from '../../src/queue/schedules.js';
import type { TestQueue } from '../support/queue-state.js';
import type { Row } from './rows.js';

/** The same verbs, by a JobQueue or through the Nest module. */
export interface Driver {
  readonly name: string;
  open(row: Row, cell: string): Promise<Stage>;
}

/** One queue as a driver reaches it. */
export interface Stage {
  /** For what the module has no verb of its own for. */
  readonly queue: JobQueue;
  /** The same keys, to seed and to read. */
  readonly state: TestQueue;
  readonly deadLetters: DeadLetters;
  readonly schedules: Pick<Schedules, 'runNow' | 'upsert'>;
  enqueue(payload: string, options: EnqueueOptions, typed: boolean): Promise<JobHandle>;
  pause(): Promise<boolean>;
  resume(): Promise<boolean>;
  cancel(id: string): Promise<string>;
  /** Lets nobody claim but the test. */
  keepWaiting(): void;
  /** Resolves when the job runs; from then on nothing else is claimed. */
  running(): Promise<void>;
  /** Ends the attempt; each resolves when that is written. */
  fail(final: boolean): Promise<void>;
  complete(): Promise<void>;
  snooze(delayMs: number): Promise<void>;
  shutDown(): Promise<void>;
  loseWorker(): Promise<void>;
  /** Resolves when the handler, told of a cancel, has given up. */
  giveUp(): Promise<void>;
}

export class Scene {
  id = 'subject';

  constructor(
    readonly stage: Stage,
    readonly row: Row,
  ) {}

  /** Enqueues the job as its row says. */
  async enqueue(): Promise<void> {
    const { options, typed = false, scheduled } = this.row;
    if (scheduled) {
      await this.stage.schedules.upsert('often', { everyMs: 86_400_000 }, { payload: 'subject', overlap: false });
      this.id = (await this.stage.schedules.runNow('often')).id;
    } else {
      await this.stage.enqueue('subject', { ...options, id: this.id }, typed);
    }
  }

  async becomeDue(): Promise<void> {
    const { state } = this.stage;
    if (this.row.options.delayMs) {
      await state.makeDue(this.id);
      await state.redis.zadd(state.keys.wake, 0, '1');
    }
  }

  /** The job runs, and a peer of the same priority waits. */
  async run(): Promise<void> {
    await this.enqueue();
    await this.becomeDue();
    await this.stage.running();
    await this.stage.enqueue('peer', { id: 'peer', priority: this.row.options.priority }, this.row.typed ?? false);
  }

  /** What the job is now, in the words of the docs. */
  async seen(): Promise<string> {
    const { options, typed = false, scheduled } = this.row;
    const job = await this.stage.queue.get(this.id);
    const words = [job ? await this.place(job.status) : 'gone'];
    const alive = job?.status === 'pending' || job?.status === 'scheduled';
    if (alive && options.expiresInMs) {
      words.push(job.expiresAt ? 'goes on to expire' : 'expires no more');
    }
    if (alive && options.maxAttempts) {
      words.push(`attempts ${job.attempts} of its ${job.maxAttempts}`);
    }
    if (alive && options.timeoutMs) {
      words.push((await this.stored()).timeoutMs === options.timeoutMs ? 'limit kept' : 'limit lost');
    }
    if (options.keepResult === false && alive) {
      words.push((await this.stored()).keepResult === false ? 'keeps none' : 'keeps one');
    } else if (options.keepResult === false && job?.status === 'completed') {
      words.push(job.result === undefined ? 'no result' : 'a result');
    }
    if (options.unique) {
      const { outcome } = await this.stage.enqueue('rival', { unique: options.unique }, typed);
      words.push(outcome === 'kept' ? 'key held' : 'key free');
    }
    if (scheduled) {
      const { outcome } = await this.stage.schedules.runNow('often');
      words.push(outcome === 'kept' ? 'the next one waits' : 'the next one comes');
    }
    return words.join('; ');
  }

  /** What its worker is told. */
  async stored(): Promise<Record<string, unknown>> {
    return JSON.parse((await this.stage.state.field(this.id, 'options'))!) as Record<string, unknown>;
  }

  /** Where it is, and where in the line it stands. */
  async place(status: string): Promise<string> {
    if (status !== 'pending') {
      return status;
    }
    const { state } = this.stage;
    const ranked = await state.ranked(state.keys.prioritized);
    const [ids, name] = ranked.includes(this.id) ? [ranked, 'its priority'] : [await state.pending(), 'the line'];
    expect(ids).toContain(this.id);
    return ids.includes('peer') ? `${ids[0] === this.id ? 'front' : 'back'} of ${name}` : `in ${name}`;
  }
}
