import type { EncodedJob } from '../queue/store/enqueue-call.js';
import type { OutboxRecord, OutboxSigns, OutboxWriter, TransactionHandle } from '../queue/store/outbox-writer.js';
import { checkTransaction, type OutboxDatabase } from './outbox-database.js';
import { OutboxTable, type OutboxStats } from './outbox-table.js';
import { rowOf } from './ship.js';
import { Relay, type RelayParts } from './relay.js';

/** What a database says to a user without the permission: PostgreSQL, and MySQL for a table and for columns. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  '42501',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
]);
/** The fields in which clients keep the error of their driver. */
const INNER = ['cause', 'original', 'parent', 'driverError', 'previous'] as const;

interface JobOutboxParts extends Omit<RelayParts, 'table'> {
  database: OutboxDatabase;
  /** True if this process ships rows. */
  relays: boolean;
}

/**
 * The jobs of committed transactions that are not in their queues yet. Inject it to see and to change them.
 *
 * @example
 * constructor(private readonly outbox: JobOutbox) {}
 * const { waiting, oldestAgeMs } = await this.outbox.stats();
 */
export class JobOutbox {
  /** @internal */
  protected readonly table: OutboxTable;
  /** @internal */
  protected readonly relays: boolean;
  private readonly relay: Relay;

  /** @internal */
  constructor({ database, relays, ...parts }: JobOutboxParts) {
    this.table = new OutboxTable(database);
    this.relay = new Relay({ ...parts, table: this.table });
    this.relays = relays;
  }

  /** The reason why rows wait, such as Redis being away; undefined if all is well. */
  get trouble(): string | undefined {
    return this.relay.trouble?.message;
  }

  /** Returns how many rows wait, and for how long. */
  stats(): Promise<OutboxStats> {
    return this.table.stats();
  }

  /** Returns rows, the failed and refused ones first. @param options.limit at most 1,000. Default 50 */
  list(options: { limit?: number | undefined } = {}): Promise<OutboxRecord[]> {
    return this.table.list(Math.min(1_000, Math.max(1, Math.trunc(options.limit ?? 50))));
  }

  /** Lets refused and failed rows be sent again. Returns how many. */
  async retry(): Promise<number> {
    const count = await this.table.retry();
    this.wake();
    return count;
  }

  /** Deletes a failed row, whose job is never added. Returns false if there is none of this number. */
  async discard(seq: string): Promise<boolean> {
    return (await this.table.discard({ seqs: [seq] })) > 0;
  }

  /** Looks for rows now. Call it after a commit, where the few ms until the next look matter. */
  wake(): void {
    if (this.relays) {
      this.relay.shipSoon();
    }
  }

  /** Ships all committed rows, also in a process with `relay: false`. Resolves once they are in their queues. */
  ship(): Promise<void> {
    return this.relay.runOnce();
  }

  /** Returns the writer of a connection's queues. @internal */
  writerFor(connection: string): OutboxWriter {
    const { table } = this;
    const check = (subject: string, transaction: TransactionHandle) =>
      checkTransaction(subject, table.database, transaction);
    return {
      store: async (stored, queue, jobs: readonly EncodedJob[]) => {
        await check('enqueue.transaction', stored.transaction);
        await table.insert(
          stored,
          jobs.map((job) => rowOf(connection, queue, job)),
        );
        if (this.relays) {
          this.relay.expectCommit();
        }
      },
      markDone: async (transaction, queue, id) => {
        await check('once', transaction);
        return table.markDone(transaction, queue, id);
      },
      relayed: this.relay.relayed,
      signs: () => this.signs(),
      rows: {
        list: (limit) => table.list(limit, connection),
        retry: async (queue, seqs) => {
          const count = await table.retry({ connection, queue, seqs });
          this.wake();
          return count;
        },
        discard: (queue, seqs) => table.discard({ connection, queue, seqs }),
      },
    };
  }

  /** Returns undefined if this process only writes rows, and may not read them. */
  private async signs(): Promise<OutboxSigns | undefined> {
    try {
      const [stats, trouble, troubledForMs = 0] = [await this.stats(), this.trouble, this.relay.troubledForMs];
      return { ...stats, ...(trouble !== undefined && { trouble, troubledForMs }) };
    } catch (error) {
      if (this.relays || !isForbidden(error)) {
        throw error;
      }
      return undefined;
    }
  }

  /** @internal */
  start(): void {
    if (this.relays) {
      this.relay.start();
    }
  }

  /** Resolves when the turn that runs has ended, and the relay's own connections are closed. @internal */
  async stop(): Promise<void> {
    await this.relay.stop();
    await this.table.database.close?.();
  }
}

/** Returns whether an error of a database client says that its user lacks a permission. */
function isForbidden(error: unknown, depth = 5): boolean {
  if (typeof error !== 'object' || error === null || depth === 0) {
    return false;
  }
  const fields = error as Record<string, unknown>;
  return REFUSALS.has(fields['code']) || INNER.some((name) => isForbidden(fields[name], depth - 1));
}
