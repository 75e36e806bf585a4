// The driver's part for the columns of a table: one job in one queue, and all actions on it.
import { expect } from '@jest/globals';
import type { CleanableStatus } from '#queue/operate/clean.js';
import type { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import type { JobRecord } from '#queue/model/job.js';
import type { JobHandle } from '#queue/results/job-handle.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { Schedules } from '#queue/schedules/schedules.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { eventually } from '../../support/faults/wait.js';
import { FIRST, HOUR, type Row } from './rows.js';
import { expectOnReplica } from './server.js';
import { endWords, keptWords } from './words.js';

/** The same verbs, by a JobQueue or through the Nest module. */
export interface Driver {
  readonly name: string;
  open(row: Row, column: string): Promise<Stage>;
}

/** One queue as a driver reaches it. */
export interface Stage {
  /** The queue of a manual consumer. */
  readonly queue: JobQueue;
  /** The same keys, to seed and to read. */
  readonly state: TestQueue;
  readonly deadLetters: DeadLetters;
  readonly schedules: Pick<Schedules, 'runNow' | 'upsert'>;
  enqueue(payload: string, options: EnqueueOptions, typed: boolean): Promise<JobHandle>;
  pause(): Promise<boolean>;
  resume(): Promise<boolean>;
  cancel(id: string): Promise<string>;
  get(id: string): Promise<JobRecord | null>;
  promote(id: string): Promise<string>;
  update(id: string, payload: string): Promise<string>;
  setPriority(id: string, priority: number): Promise<string>;
  runAgain(id: string): Promise<string>;
  /** Stores a checkpoint of the running job. */
  checkpoint(value: number): Promise<void>;
  reschedule(id: string, start: { delayMs: number }): Promise<string>;
  remove(id: string): Promise<string>;
  clean(status: CleanableStatus): Promise<number>;
  purge(): Promise<number>;
  /** Lets nobody claim but the test. */
  keepWaiting(): void;
  /** Ends that. */
  claimAgain(): void;
  /** Resolves when the job runs; from then on nothing else is claimed. */
  running(): Promise<void>;
  /** Resolves when BLOCKER runs, in the only slot. */
  blocked(): Promise<void>;
  /** Lets BLOCKER end. */
  freeSlot(): void;
  /** Ends the attempt; each resolves when that is written. */
  fail(final: boolean): Promise<void>;
  complete(): Promise<void>;
  snooze(delayMs: number): Promise<void>;
  /** Makes the handler throw a RateLimitedError. */
  meetLimit(retryAfterMs: number): Promise<void>;
  /** Resolves when the time limit has passed, and that is written. */
  timeOut(): Promise<void>;
  shutDown(): Promise<void>;
  loseWorker(): Promise<void>;
  /** Resolves when the handler, told of a cancel, has given up. */
  giveUp(): Promise<void>;
  /** Lets all that still runs end, so that no stop waits for it. */
  end(): void;
}

/** The job that has the slot for which another waits. */
export const BLOCKER = 'blocker';

export class Scene {
  id = '';

  constructor(
    readonly stage: Stage,
    readonly row: Row,
  ) {}

  /** Enqueues the job as its row says. */
  async enqueue(): Promise<void> {
    const { options, typed = false, scheduled, limitMs } = this.row;
    const { schedules, queue } = this.stage;
    if (this.row.limits) {
      await queue.limits.set(this.row.limits);
    }
    if (this.row.groupLimits) {
      await queue.groups.set(options.group!, this.row.groupLimits);
    }
    if (options.after) {
      await this.stage.enqueue(FIRST, { id: FIRST, delayMs: HOUR }, false);
    }
    const limit = limitMs === undefined ? {} : { timeoutMs: limitMs };
    if (scheduled) {
      await schedules.upsert('often', { everyMs: 86_400_000 }, { payload: 'subject', overlap: false, ...limit });
    }
    const { id } = scheduled
      ? await schedules.runNow('often')
      : await this.stage.enqueue('subject', { ...options, ...limit }, typed);
    this.id = id;
    if (options.durability) {
      await expectOnReplica(this.stage.state, id, 'subject');
    }
  }

  async becomeDue(): Promise<void> {
    const { state, queue } = this.stage;
    if (this.row.options.after) {
      // Ended as by a client of the Redis pattern: no worker may take it here.
      await state.redis.zrem(state.keys.scheduled, FIRST);
      await state.redis.hset(state.keys.job(FIRST), 'status', 'completed');
      await state.redis.pexpire(state.keys.job(FIRST), HOUR);
      await state.redis.lpush(state.keys.completed, FIRST);
      await maintainBatches(queue);
    }
    if (this.row.options.delayMs ?? this.row.options.runAt) {
      await state.makeDue(this.id);
      await state.redis.zadd(state.keys.wake, 0, '1');
    }
  }

  /** Runs the job while a peer of the same priority waits. */
  async run(): Promise<void> {
    if (this.row.ahead) {
      await this.claimAhead();
    } else {
      await this.enqueue();
      await this.becomeDue();
    }
    await this.begin();
    await this.enqueuePeer();
  }

  /** Gives the job to a worker while a peer waits. */
  async claimed(): Promise<void> {
    if (!this.row.ahead) {
      return this.run();
    }
    await this.claimAhead();
    await this.stage.pause();
    await this.enqueuePeer();
  }

  /** Lets the job wait, for a worker or for a slot. */
  async waits(): Promise<void> {
    if (this.row.ahead) {
      return this.claimed();
    }
    this.stage.keepWaiting();
    await this.enqueue();
  }

  /** Resolves when the worker has given the job back. */
  async givenBack(): Promise<void> {
    await eventually(async () => (await this.stage.get(this.id))!.status === 'pending');
  }

  /** Resolves when the job runs. */
  async begin(): Promise<void> {
    this.stage.freeSlot();
    await this.stage.running();
  }

  private async claimAhead(): Promise<void> {
    await this.stage.enqueue(BLOCKER, { id: BLOCKER }, false);
    await this.stage.blocked();
    await this.enqueue();
    await eventually(async () => (await this.stage.get(this.id))!.status === 'processing');
  }

  private async enqueuePeer(): Promise<void> {
    const { options, typed = false } = this.row;
    await this.stage.enqueue('peer', { id: 'peer', priority: options.priority, group: options.group }, typed);
  }

  /** Returns the state of the job in the words of the docs. */
  async seen(): Promise<string> {
    const { options, typed = false, scheduled } = this.row;
    const { state } = this.stage;
    const job = await this.stage.get(this.id);
    const words = [job ? await this.place(job.status) : 'gone'];
    if (job?.status === 'pending' || job?.status === 'scheduled') {
      words.push(...(await keptWords(this.row, job, state)));
    } else if (job) {
      words.push(...(await endWords(this.row, job, state)));
    }
    if (this.row.groupLimits && (await this.stage.queue.groups.get(options.group!)).heldBy !== null) {
      words.push('its group held');
    }
    if (options.unique) {
      const { outcome } = await this.stage.enqueue('rival', { unique: options.unique }, typed);
      words.push(
        { kept: 'key held', replaced: 'the next one replaces it', new: 'key free', existing: '', stored: '' }[
          outcome
        ],
      );
    }
    if (options.id) {
      const { outcome } = await this.stage.enqueue('again', { id: options.id }, typed);
      words.push(outcome === 'existing' ? 'id known' : 'id free');
    }
    if (scheduled) {
      const { outcome } = await this.stage.schedules.runNow('often');
      words.push(outcome === 'kept' ? 'the next one waits' : 'the next one comes');
    }
    return words.join('; ');
  }

  /** Returns the line in which the job waits, and its name. */
  private async line(): Promise<[ids: string[], name: string]> {
    const { state } = this.stage;
    const { row } = this;
    if (row.options.group !== undefined) {
      return [await state.ranked(`${state.keys.groupsPrefix}waiting:${row.options.group}`), 'its group'];
    }
    const ranked = await state.ranked(state.keys.prioritized);
    return ranked.includes(this.id) ? [ranked, 'its priority'] : [await state.pending(), 'the line'];
  }

  /** Returns the place of the job, and its position in the line. */
  async place(status: string): Promise<string> {
    if (status !== 'pending') {
      return status;
    }
    const [all, name] = await this.line();
    const ids = all.filter((id) => id !== BLOCKER && id !== FIRST);
    expect(ids).toContain(this.id);
    return ids.includes('peer') ? `${ids[0] === this.id ? 'front' : 'back'} of ${name}` : `in ${name}`;
  }
}
