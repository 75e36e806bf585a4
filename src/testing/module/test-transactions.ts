import type { TransactionHandle } from '../../queue/store/verbs/outbox-writer.js';

/** A step of a commit, and how to undo what was noted before it. */
interface Deferred {
  /** Runs when the transaction commits. */
  commit(): void | Promise<void>;
  /** Runs when it rolls back. */
  undo?(): void;
}

/** The open transactions of a test. */
export class TestTransactions {
  private readonly open = new WeakMap<TransactionHandle, Deferred[]>();

  /** Runs work in a transaction: commits it, or rolls it back if the work rejects. A nested one is a savepoint. */
  async run<Result>(transaction: TransactionHandle, work: () => Promise<Result>): Promise<Result> {
    const outer = this.open.get(transaction);
    const deferred: Deferred[] = [];
    this.open.set(transaction, deferred);
    try {
      const result = await work();
      outer?.push(...deferred);
      for (const { commit } of outer ? [] : deferred) {
        await commit();
      }
      return result;
    } catch (error) {
      deferred.forEach(({ undo }) => undo?.());
      throw error;
    } finally {
      this.open.delete(transaction);
      if (outer) {
        this.open.set(transaction, outer);
      }
    }
  }

  /** Keeps a step for the commit. Returns false if the transaction is none of the test. */
  defer(transaction: TransactionHandle, step: Deferred): boolean {
    return (this.open.get(transaction)?.push(step) ?? 0) > 0;
  }
}
