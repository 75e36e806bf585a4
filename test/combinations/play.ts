import { NonRetryableError, RetryLaterError, type Job, type JobQueue, type WorkerEvent } from 'nest-job-queue';
import type { TestQueue } from '../support/queue-state.js';
import { eventually, gate } from '../support/wait.js';
import type { Stage } from './scene.js';

type PlayedVerb = 'complete' | 'fail' | 'giveUp' | 'loseWorker' | 'snooze';

/** What the handler of one cell is to do, and what became of it. */
export class Play {
  readonly started = gate();
  private readonly ended = gate<WorkerEvent['type']>();
  private readonly action = gate<() => unknown>();

  async handle(job: Job): Promise<unknown> {
    this.started.open();
    const aborted = new Promise<() => unknown>((resolve) => {
      job.signal.addEventListener('abort', () => resolve(() => Promise.reject(job.signal.reason as Error)));
    });
    return (await Promise.race([this.action.promise, aborted]))();
  }

  /** Takes what the worker tells of the job. */
  tell({ type }: Pick<WorkerEvent, 'type'>): void {
    if (type !== 'started' && type !== 'stuck') {
      this.ended.open(type);
    }
  }

  async until(expected: WorkerEvent['type']): Promise<void> {
    const type = await this.ended.promise;
    if (type !== expected) {
      throw new Error(`expected the event ${expected}, found ${type}`);
    }
  }

  /** The verbs of a stage whose job runs in a worker. */
  verbs(queue: JobQueue, state: TestQueue): Pick<Stage, PlayedVerb> {
    const act = (action: () => unknown, expected: WorkerEvent['type']) => {
      this.action.open(action);
      return this.until(expected);
    };
    return {
      complete: () => act(() => 1, 'completed'),
      fail: (final) =>
        final ? act(thrower(new NonRetryableError('no')), 'failed') : act(thrower(new Error('no')), 'retry'),
      giveUp: () => this.until('cancelled'),
      loseWorker: async () => {
        await eventually(async () => {
          // A heartbeat in between takes an expired claim up again.
          await state.expireClaims(...(await state.ranked(state.keys.claims)));
          return (await queue.reclaim()).reclaimed.length > 0;
        });
        await this.until('lost');
      },
      snooze: (delayMs) => act(thrower(new RetryLaterError(delayMs)), 'released'),
    };
  }
}

function thrower(error: Error): () => never {
  return () => {
    throw error;
  };
}
