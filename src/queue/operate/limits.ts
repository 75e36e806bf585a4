import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { inWords, onQueue } from '../actions/noted-action.js';
import type { ActionName } from '../model/actions.js';
import { InvalidOptionError } from '../errors/errors.js';
import {
  limitChangesSchema,
  runtimeLimitFields,
  withNames,
  type LimitChanges,
  type RuntimeLimits,
} from '../model/limits.js';
import { checkOptions } from '../validation/validate-options.js';
import type { ChangedQueue } from '../store/queue-store.js';
import type { LimitsInForce } from '../model/limits.js';

const limitsSchema = z.strictObject(...withNames(runtimeLimitFields));

/**
 * Changes the limits of a queue for the whole fleet at run time. They outlive deploys, and take precedence over the
 * limits of `forRoot` and `@JobHandler` until they are cleared. A lower limit ends no running job.
 */
export class Limits {
  /** @internal */
  constructor(private readonly queue: ChangedQueue & Logged) {}

  /** Returns the limits that hold now. */
  async get(): Promise<LimitsInForce> {
    return this.queue.exec((calls) => calls.limits.get());
  }

  /**
   * Sets the limits for all workers. Limits left out are unlimited. Bounds of waiting jobs left out follow each
   * producer's option.
   *
   * @throws InvalidOptionError
   * @example await queue.limits.set({ maxRunning: 5, rateLimit: { limit: 100, periodMs: 60_000, burst: 10 } });
   */
  async set(limits: RuntimeLimits): Promise<void> {
    const checked = checkOptions('limits', limitsSchema, limits);
    await this.record('limits', inWords(checked) || 'none', () =>
      this.queue.exec((calls) => calls.limits.set(checked)),
    );
    await this.queue.afterChange?.('limits');
  }

  /**
   * Changes some limits for all workers in one step. null removes a limit. An omitted limit stays as it is, also within
   * `rateLimit` and `groups`. So two operators who change different limits do not undo each other. All limits then count
   * as set until `clear`, including the kept limits of the code.
   *
   * @throws InvalidOptionError also for a part of a rate where there is no rate; nothing was changed
   * @example await queue.limits.change({ maxRunning: 10, rateLimit: null });
   */
  async change(changes: LimitChanges): Promise<void> {
    const checked = checkOptions('limits', limitChangesSchema, changes);
    await this.record('limits', inWords(checked) || 'as they are', async () => {
      const incomplete = await this.queue.exec((calls) => calls.limits.change(checked));
      if (incomplete) {
        throw new InvalidOptionError(
          `limits.${incomplete}`,
          '{ limit, periodMs, burst? }, as there is none',
          'a part',
        );
      }
    });
    await this.queue.afterChange?.('limits');
  }

  /** Clears the limits that were set, and ends a rest. The configured limits apply again at once. */
  async clear(): Promise<void> {
    await this.record('clear-limits', undefined, () => this.queue.exec((calls) => calls.limits.clear()));
  }

  private record(
    action: ActionName,
    details: string | undefined,
    change: () => Promise<unknown>,
  ): Promise<unknown> {
    return this.queue.actionLog.record(onQueue(action, details), change);
  }
}
