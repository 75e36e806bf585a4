import { AsyncLocalStorage } from 'node:async_hooks';
import type { TransactionHandle } from '../../queue/store/outbox-writer.js';

/** A step of a commit, and how to undo what was noted before it. */
interface Deferred {
  /** Runs when the transaction commits. */
  commit(): void | Promise<void>;
  /** Runs when it rolls back. */
  undo?(): void;
}

/** A call of `run`. */
interface Scope {
  readonly transaction: TransactionHandle;
  /** The call around it, of any transaction. */
  readonly around: Scope | undefined;
  readonly deferred: Deferred[];
  isOpen: boolean;
}

/** The open transactions of a test. Calls with the same object may overlap: each owns the steps of its own work. */
export class TestTransactions {
  private readonly current = new AsyncLocalStorage<Scope>();
  private readonly open = new Set<Scope>();

  /** Runs work in a transaction: commits it, or rolls it back if the work rejects. A nested one is a savepoint. */
  async run<Result>(transaction: TransactionHandle, work: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { transaction, around: this.current.getStore(), deferred: [], isOpen: true };
    this.open.add(scope);
    try {
      const result = await this.current.run(scope, work);
      await commit(scope);
      return result;
    } catch (error) {
      scope.deferred.forEach(({ undo }) => undo?.());
      throw error;
    } finally {
      scope.isOpen = false;
      this.open.delete(scope);
    }
  }

  /** Keeps a step for the commit. Returns false if the transaction is none of the test, or has ended. */
  defer(transaction: TransactionHandle, step: Deferred): boolean {
    const own = scopesOf(this.current.getStore(), transaction);
    // Work of another async context, such as an event, has no scope of its own.
    const scope =
      own.length > 0 ? own : [...this.open].filter((each) => each.transaction === transaction).toReversed();
    const target = scope.find(({ isOpen }) => isOpen);
    target?.deferred.push(step);
    return target !== undefined;
  }
}

/** Commits a call, or gives its steps to the open call around it. Steps that come meanwhile are committed too. */
async function commit(scope: Scope): Promise<void> {
  const outer = scopesOf(scope.around, scope.transaction).find(({ isOpen }) => isOpen);
  if (outer) outer.deferred.push(...scope.deferred);
  else for (const step of scope.deferred) await step.commit();
}

/** Returns the calls of a transaction from the innermost one outwards. */
function scopesOf(innermost: Scope | undefined, transaction: TransactionHandle): Scope[] {
  const scopes: Scope[] = [];
  for (let scope = innermost; scope !== undefined; scope = scope.around) {
    if (scope.transaction === transaction) scopes.push(scope);
  }
  return scopes;
}
