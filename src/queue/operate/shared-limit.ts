import { InvalidOptionError } from '../errors/errors.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import { groupName } from '../model/group.js';
import { type PauseOptions, pauseOptions } from '../model/pause.js';
import {
  sharedLimitChanges,
  sharedLimitSchema,
  type SharedLimitChanges,
  type SharedLimitState,
  type SharedLimitValues,
} from '../model/shared-limit.js';
import { withoutUndefined } from '../runtime/collections.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { StoreCall } from '../store/store-call.js';
import type { StoreCalls } from '../store/store-calls.js';
import { isLimitName, isQueueName, nameOfSpelled, QUEUE_NAME_RULE, storeOfKey } from '../validation/names.js';
import { checkOptions } from '../validation/validate-options.js';

/** A queue that reaches others of its Redis. */
type CallingQueue = Pick<QueueAccess, 'store' | 'options'>;

/** What a key takes from its limit. */
type OfLimit = Pick<SharedLimitState, 'source' | 'maxRunning' | 'rateLimit'> & Partial<SharedLimitState>;

/** The time a wake of another queue may take, in ms. Its workers ask again each second. */
const WAKE = { timeoutMs: 1_000 };

/**
 * Wakes a worker of each queue, because permits of a limit came back. An error does no harm, because waiting workers ask
 * again each second.
 *
 * @param spelled the queues, as their keys spell them
 */
export async function wakeQueues(queue: CallingQueue, spelled: readonly string[]): Promise<void> {
  await callEach(queue, spelled, (calls) => calls.workers.passWake({ worker: '' }));
}

/**
 * Ends the rest of a group in each queue where it waits for a permit of its key. An error does no harm, because such a rest
 * ends soon by its time.
 *
 * @param spelled the queues, as their keys spell them
 */
export async function endRests(queue: CallingQueue, group: string, spelled: readonly string[]): Promise<void> {
  await callEach(queue, spelled, (calls) => calls.groups.endRest({ name: group }));
}

/** Calls each of these queues. An error is only logged. */
async function callEach(
  { store, options }: CallingQueue,
  spelled: readonly string[],
  callOf: (calls: StoreCalls) => StoreCall<unknown>,
): Promise<void> {
  const wakes = spelled.map(async (each) => {
    const name = nameOfSpelled(each);
    if (isQueueName(name)) {
      const calls = store.callsOf(name, { ...options, hashTag: each !== name });
      await store.exec(callOf(calls), WAKE);
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
 * over the values of the code until they are cleared. They end no running job. If queues name it with a key, they apply to
 * each key; those of one key are at `key(…)`.
 *
 * @example
 * const openai = queue.sharedLimit('openai');
 * await openai.pause({ by: 'ada', reason: 'the key is replaced', forMs: 600_000 });
 */
export class SharedLimit {
  /** The name of its store in Redis. */
  private readonly limit: string;

  /**
   * @param queue any queue of the same Redis and prefix
   * @param ofKey one key of the limit; undefined for the limit itself
   * @internal
   */
  constructor(
    private readonly queue: QueueAccess,
    /** The name of the limit. */
    readonly name: string,
    private readonly ofKey?: string,
  ) {
    if (!isLimitName(name)) {
      throw new InvalidOptionError('limit name', QUEUE_NAME_RULE, show(name));
    }
    this.limit = ofKey === undefined ? name : storeOfKey(name, ofKey);
  }

  /**
   * Returns one key of the limit, such as a tenant, for queues that name it with `key: 'group'`. What is set for a key, and a
   * pause of it, end 30 days after its last use.
   *
   * @param key the group of the jobs
   * @throws InvalidOptionError
   * @example await jobs.limits('crm').key('acme').set({ maxRunning: 50 });
   */
  key(key: string): SharedLimit {
    return new SharedLimit(this.queue, this.name, checkOptions('key', groupName, key));
  }

  /** Returns the values that hold now, who holds permits, and which queues wait. */
  async get(): Promise<SharedLimitState> {
    const { limit, name, ofKey } = this;
    return ofKey === undefined
      ? this.queue.exec((calls) => calls.sharedLimits.get({ limit }))
      : this.getUnder(await this.queue.exec((calls) => calls.sharedLimits.get({ limit: name })));
  }

  /**
   * Returns the state of a key, with what is given of its limit where it has nothing of its own.
   *
   * @internal
   */
  async getUnder(ofLimit: OfLimit): Promise<SharedLimitState> {
    const { limit, name, ofKey } = this;
    const state = await this.queue.exec((calls) => calls.sharedLimits.get({ limit }));
    const { restsUntil } = { ...ofLimit, ...state };
    const { pausedAt, pausedUntil, pausedBy, pauseReason } = state.pausedAt ? state : ofLimit;
    const { source, maxRunning, rateLimit } = state.source === 'set' ? state : ofLimit;
    const { running, holders, waiting, queues, nextStartAt } = state;
    return {
      name,
      key: ofKey!,
      source,
      rateLimit,
      running,
      holders,
      waiting,
      queues,
      ...withoutUndefined({ maxRunning, nextStartAt, restsUntil, pausedAt, pausedUntil, pausedBy, pauseReason }),
    };
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
    const { limit } = this;
    await this.wake(await this.queue.exec((calls) => calls.sharedLimits.clear({ limit })));
  }

  /**
   * Pauses the limit: no job that needs it starts. Running jobs continue. Returns false if it was already paused; then
   * the new end and reason apply.
   *
   * @throws InvalidOptionError
   */
  async pause(options: PauseOptions = {}): Promise<boolean> {
    const { limit } = this;
    const checked = checkOptions('pause', pauseOptions, options);
    return this.queue.exec((calls) => calls.sharedLimits.pause({ limit, ...checked }));
  }

  /** Ends the pause. Returns false if the limit was not paused. */
  async resume(): Promise<boolean> {
    const { limit } = this;
    const { wasPaused, queues } = await this.queue.exec((calls) => calls.sharedLimits.resume({ limit }));
    await this.wake(queues);
    return wasPaused;
  }

  private get subject(): string {
    return `${this.ofKey === undefined ? '' : `key ${show(this.ofKey)} of `}limit ${show(this.name)}`;
  }

  private async write(values: SharedLimitChanges): Promise<void> {
    const { limit, name, ofKey } = this;
    const rules =
      ofKey === undefined
        ? undefined
        : await this.queue.exec((calls) => calls.sharedLimits.noteKeys({ limit: name, used: [] }));
    await this.wake(
      await this.queue.exec((calls) =>
        calls.sharedLimits.set({ limit, values, ofLimit: rules && (rules.values ?? {}) }),
      ),
    );
  }

  private async wake(queues: readonly string[]): Promise<void> {
    await (this.ofKey === undefined ? wakeQueues(this.queue, queues) : endRests(this.queue, this.ofKey, queues));
  }
}
