import { InvalidOptionError } from '../errors/errors.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import { type PauseOptions, pauseOptions } from '../model/pause.js';
import {
  sharedLimitChanges,
  sharedLimitSchema,
  type SharedLimitChanges,
  type SharedLimitState,
  type SharedLimitValues,
} from '../model/shared-limit.js';
import type { QueueAccess } from '../store/queue-store.js';
import { isLimitName, isQueueName, nameOfSpelled, QUEUE_NAME_RULE } from '../validation/names.js';
import { checkOptions } from '../validation/validate-options.js';

/** The time a wake of another queue may take, in ms. Its workers ask again each second. */
const WAKE = { timeoutMs: 1_000 };

/**
 * Wakes a worker of each queue, because permits of a limit came back. An error does no harm, because waiting workers ask
 * again each second.
 *
 * @param spelled the queues, as their keys spell them
 */
export async function wakeQueues(
  { store, options }: Pick<QueueAccess, 'store' | 'options'>,
  spelled: readonly string[],
): Promise<void> {
  const wakes = spelled.map(async (each) => {
    const name = nameOfSpelled(each);
    if (isQueueName(name)) {
      const calls = store.callsOf(name, { ...options, hashTag: each !== name });
      await store.exec(calls.workers.passWake({ worker: '' }), WAKE);
    }
  });
  const refused = (await Promise.allSettled(wakes)).find((outcome) => outcome.status === 'rejected');
  if (refused) {
    SafeLogger.of(store.logger).debug(
      'Could not wake a queue that waits for a limit; it asks again',
      refused.reason,
    );
  }
}

/**
 * A limit that several queues share, for the whole fleet. `set`, `change` and `pause` outlive deploys, and take precedence
 * over the values of the code until they are cleared. They end no running job.
 *
 * @example
 * const openai = queue.sharedLimit('openai');
 * await openai.pause({ by: 'ada', reason: 'the key is replaced', forMs: 600_000 });
 */
export class SharedLimit {
  /** @param queue any queue of the same Redis and prefix @internal */
  constructor(
    private readonly queue: QueueAccess,
    /** The name of the limit. */
    readonly name: string,
  ) {
    if (!isLimitName(name)) {
      throw new InvalidOptionError('limit name', QUEUE_NAME_RULE, show(name));
    }
  }

  /** Returns the values that hold now, who holds permits, and which queues wait. */
  async get(): Promise<SharedLimitState> {
    return this.queue.exec((calls) => calls.sharedLimits.get({ limit: this.name }));
  }

  /**
   * Sets the values for all workers. Values left out are unlimited.
   *
   * @throws InvalidOptionError
   * @example await jobs.limits('openai').set({ maxRunning: 5, rateLimit: { limit: 100, periodMs: 60_000 } });
   */
  async set(values: SharedLimitValues): Promise<void> {
    const { maxRunning = null, rateLimit = null } = checkOptions(this.subject, sharedLimitSchema, values);
    await this.write({ maxRunning, rateLimit });
  }

  /**
   * Changes one value for all workers, and keeps the other. null removes a value. Both then count as set until `clear`.
   *
   * @throws InvalidOptionError
   * @example await jobs.limits('openai').change({ maxRunning: 10 });
   */
  async change(changes: SharedLimitChanges): Promise<void> {
    await this.write(checkOptions(this.subject, sharedLimitChanges, changes));
  }

  /** Clears the values that were set, and ends a rest. Those of the code apply again at once. */
  async clear(): Promise<void> {
    await this.wake(await this.queue.exec((calls) => calls.sharedLimits.clear({ limit: this.name })));
  }

  /**
   * Pauses the limit: no job that needs it starts. Running jobs continue. Returns false if it was already paused; then
   * the new end and reason apply.
   *
   * @throws InvalidOptionError
   */
  async pause(options: PauseOptions = {}): Promise<boolean> {
    const checked = checkOptions('pause', pauseOptions, options);
    return this.queue.exec((calls) => calls.sharedLimits.pause({ limit: this.name, ...checked }));
  }

  /** Ends the pause. Returns false if the limit was not paused. */
  async resume(): Promise<boolean> {
    const { wasPaused, queues } = await this.queue.exec((calls) => calls.sharedLimits.resume({ limit: this.name }));
    await this.wake(queues);
    return wasPaused;
  }

  private get subject(): string {
    return `limit ${show(this.name)}`;
  }

  private async write(values: SharedLimitChanges): Promise<void> {
    await this.wake(await this.queue.exec((calls) => calls.sharedLimits.set({ limit: this.name, values })));
  }

  private async wake(queues: readonly string[]): Promise<void> {
    await wakeQueues(this.queue, queues);
  }
}
