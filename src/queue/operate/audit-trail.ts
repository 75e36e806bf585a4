import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { onQueue } from '../actions/noted-action.js';
import type { AuditEntry } from '../model/job-event.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { checkText } from '../validation/names.js';
import { wholeNumber } from '../validation/numbers.js';
import { checkOptions } from '../validation/validate-options.js';
import type { QueueAccess } from '../store/queue-store.js';

const MOST = 1_000;
const ENTRY_ID = /^\d{1,20}-\d{1,20}$/;

const entryId = z.string().regex(ENTRY_ID, 'expected the entryId of an entry');
const limit = wholeNumber(1, MOST).default(100);
const name = z.string().min(1, 'expected a name').max(200, 'expected at most 200 characters');

const readSchema = z.strictObject(
  { after: entryId.optional(), limit },
  { error: 'expected an object with after, limit' },
);
const takeSchema = z.strictObject(
  { group: name, consumer: name, limit, idleMs: wholeNumber(0, YEAR_MS, ' ms').default(60_000) },
  { error: 'expected an object with group, consumer, limit, idleMs' },
);

/** The transitions of a queue's jobs, as the option `auditTrail` writes them down. Empty without it. */
export class AuditTrail {
  /** @internal */
  constructor(private readonly queue: QueueAccess & Logged) {}

  /**
   * Returns entries, oldest first.
   *
   * @param options.after continues after the entry with this `entryId`. Default: from the oldest
   * @param options.limit at most 1,000. Default 100
   * @throws InvalidOptionError
   * @example
   * for (let after; ; ) {
   *   const entries = await queue.auditTrail.read({ ...(after && { after }) });
   *   if (entries.length === 0) break;
   *   await warehouse.insert(entries);
   *   after = entries.at(-1)!.entryId;
   * }
   */
  async read(options: { after?: string | undefined; limit?: number | undefined } = {}): Promise<AuditEntry[]> {
    const { after = '', limit: most } = checkOptions('auditTrail.read', readSchema, options);
    return this.queue.exec((calls) => calls.audit.read({ after, limit: most }));
  }

  /**
   * Returns the latest entries, newest first.
   *
   * @param options.limit at most 1,000. Default 100
   * @throws InvalidOptionError
   */
  async latest(options: { limit?: number | undefined } = {}): Promise<AuditEntry[]> {
    const { limit: most } = checkOptions('auditTrail.latest', readSchema.pick({ limit: true }), options);
    return this.queue.exec((calls) => calls.audit.latest({ limit: most }));
  }

  /**
   * Takes entries for one consumer of a group. Each entry goes to one consumer, and again to any after `idleMs` unless
   * it was acknowledged. The first call creates the group, which starts with the oldest entry.
   *
   * @param options.limit at most 1,000. Default 100
   * @param options.idleMs how long another consumer may keep an entry, in ms. Default 60,000
   * @throws InvalidOptionError
   * @example
   * const entries = await queue.auditTrail.take({ group: 'warehouse', consumer: hostname() });
   * await warehouse.insert(entries);
   * await queue.auditTrail.acknowledge('warehouse', entries);
   */
  async take(options: {
    group: string;
    consumer: string;
    limit?: number | undefined;
    idleMs?: number | undefined;
  }): Promise<AuditEntry[]> {
    const { group, consumer, limit: most, idleMs } = checkOptions('auditTrail.take', takeSchema, options);
    return this.queue.exec((calls) => calls.audit.take({ group, consumer, limit: most, idleMs }));
  }

  /**
   * Acknowledges entries for a group.
   *
   * @returns how many the group had taken and not yet acknowledged
   * @throws InvalidOptionError
   */
  async acknowledge(group: string, entries: readonly Pick<AuditEntry, 'entryId'>[]): Promise<number> {
    checkText('group', group);
    if (!Array.isArray(entries)) {
      throw new InvalidOptionError('auditTrail.acknowledge', 'an array of entries of the trail', show(entries));
    }
    const wrong = entries.findIndex((entry) => !ENTRY_ID.test(String(entry?.entryId)));
    if (wrong !== -1) {
      throw new InvalidOptionError(
        `auditTrail.acknowledge[${wrong}]`,
        'an entry of the trail',
        show(entries[wrong]?.entryId),
      );
    }
    const ids = entries.map((entry) => entry.entryId);
    return ids.length === 0 ? 0 : this.queue.exec((calls) => calls.audit.acknowledge({ group, entryIds: ids }));
  }

  /** Deletes the trail with its groups. Returns false if there was none. */
  async clear(): Promise<boolean> {
    const clear = () => this.queue.exec((calls) => calls.audit.clear());
    return this.queue.actionLog.record(onQueue('clear-audit-trail'), clear, { count: Number });
  }
}
