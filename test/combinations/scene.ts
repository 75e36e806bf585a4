// What a driver gives to the columns of a table: one job in one queue, and all that can be done to it.
import { expect } from '@jest/globals';
import type { DeadLetters } from '../../src/queue/dead-letters.js';
import type { JobHandle } from '../../src/queue/job-handle.js';
import type { JobQueue } from '../../src/queue/job-queue.js';
import type { EnqueueOptions } from '../../src/queue/new-job.js';
import type { Schedules } from '../../src/queue/schedules.js';
import type { TestQueue } from '../support/queue-state.js';
import type { Row } from './rows.js';
import { expectOnReplica } from './server.js';
import { endWords, keptWords } from './words.js';

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
    if (options.durability) {
      await expectOnReplica(this.stage.state, this.id, 'subject');
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
    const { state } = this.stage;
    if (job?.status === 'pending' || job?.status === 'scheduled') {
      words.push(...(await keptWords(options, job, state)));
    } else if (job) {
      words.push(...(await endWords(this.row, job, state)));
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
