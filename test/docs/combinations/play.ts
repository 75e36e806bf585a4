import {
  HandlerTimeoutError,
  NonRetryableError,
  RateLimitedError,
  RetryLaterError,
  type Job,
  type JobQueue,
  type WorkerEvent,
} from 'nest-job-queue';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { BLOCKER, type Stage } from './scene.js';

/** A call of a bulk handler, which waits for no second job. */
export const BULK = { size: 2, waitMs: 0 };

export type PlayedVerb =
  | 'blocked'
  | 'checkpoint'
  | 'complete'
  | 'end'
  | 'fail'
  | 'freeSlot'
  | 'giveUp'
  | 'loseWorker'
  | 'meetLimit'
  | 'snooze'
  | 'timeOut';

/** The task of the handler of one cell, and its outcome. */
export class Play {
  readonly started = gate();
  private readonly ended = gate<WorkerEvent['type']>();
  private readonly action = gate<() => unknown>();
  private readonly blocked = gate();
  private readonly slot = gate();
  /** Opens when a handler whose time has run out may end. By then a peer waits. */
  private readonly overtime = gate();
  private job: Job | undefined;

  async handle(job: Job): Promise<unknown> {
    const blocker = job.id === BLOCKER;
    this.job = job;
    (blocker ? this.blocked : this.started).open();
    const action = blocker ? this.slot.promise.then(() => () => undefined) : this.action.promise;
    const abort = new Promise<Error>((resolve) => {
      job.signal.addEventListener('abort', () => resolve(job.signal.reason as Error));
    });
    const aborted = abort.then(async (reason) => {
      await (reason instanceof HandlerTimeoutError && this.overtime.promise);
      return () => Promise.reject(reason);
    });
    return (await Promise.race([action, aborted]))();
  }

  /** Takes what the worker tells of the job. */
  tell({ type, job }: WorkerEvent): void {
    if (type !== 'started' && type !== 'stuck' && job.id !== BLOCKER) {
      this.ended.open(type);
    }
  }

  async until(...expected: WorkerEvent['type'][]): Promise<void> {
    const type = await this.ended.promise;
    if (!expected.includes(type)) {
      throw new Error(`expected the event ${expected.join(' or ')}, found ${type}`);
    }
  }

  /** Returns the verbs of a stage whose job runs in a worker. */
  verbs(queue: JobQueue, state: TestQueue): Pick<Stage, PlayedVerb> {
    const act = (action: () => unknown, ...expected: WorkerEvent['type'][]) => {
      this.action.open(action);
      return this.until(...expected);
    };
    return {
      blocked: () => this.blocked.promise,
      freeSlot: () => this.slot.open(),
      checkpoint: (value) => this.job!.checkpoint(value),
      complete: () => act(() => 1, 'completed'),
      fail: (final) =>
        final
          ? act(thrower(new NonRetryableError('no')), 'failed')
          : act(thrower(new Error('no')), 'retry', 'failed'),
      giveUp: () => this.until('cancelled'),
      loseWorker: async () => {
        await eventually(async () => {
          // A heartbeat in between takes an expired claim up again.
          await state.expireClaims(...(await state.ranked(state.keys.claims)));
          await queue.reclaim();
          return (await state.ranked(state.keys.claims)).length === 0;
        });
        await this.until('lost');
      },
      timeOut: () => {
        this.overtime.open();
        return this.until('retry', 'failed');
      },
      meetLimit: (retryAfterMs) => act(thrower(new RateLimitedError({ retryAfterMs })), 'released'),
      snooze: (delayMs) => act(thrower(new RetryLaterError(delayMs)), 'released'),
      end: () => {
        this.slot.open();
        this.overtime.open();
        this.action.open(() => 1);
      },
    };
  }
}

function thrower(error: Error): () => never {
  return () => {
    throw error;
  };
}
