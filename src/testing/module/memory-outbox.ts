import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { resolveQueueOptions } from '../../queue/model/queue-options.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type { OutboxWriter, StoredIn, TransactionHandle } from '../../queue/store/verbs/outbox-writer.js';
import type { MemoryStore } from '../../memory/memory-store.js';
import type { TestTransactions } from './test-transactions.js';

/**
 * Replaces the outbox in a test. It adds the jobs of `testing.transaction` at its commit. It takes any other object too,
 * and adds its jobs at once.
 */
export class MemoryOutbox implements OutboxWriter {
  private readonly done = new Set<string>();
  private hasWarned = false;

  constructor(
    private readonly memory: MemoryStore,
    private readonly logger: SafeLogger,
    private readonly transactions: TestTransactions,
  ) {}

  async store({ transaction }: StoredIn, queue: string, jobs: readonly EncodedJob[]): Promise<void> {
    const calls = this.memory.callsOf(queue, resolveQueueOptions(`queue "${queue}"`, {}));
    const commit = async () => void (await this.memory.exec(calls.enqueue(jobs)));
    if (!this.transactions.defer(transaction, { commit })) {
      this.warnOnce();
      await commit();
    }
  }

  private warnOnce(): void {
    if (!this.hasWarned) {
      this.hasWarned = true;
      this.logger.log(
        'No JobOutboxModule: jobs of transactions are added at once, also if these roll back. ' +
          'testing.transaction(…) adds them at the commit.',
      );
    }
  }

  async markDone(transaction: TransactionHandle, queue: string, job: string): Promise<boolean> {
    const key = `${queue}\t${job}`;
    const isFirst = !this.done.has(key);
    this.done.add(key);
    if (isFirst) {
      this.transactions.defer(transaction, { commit: () => undefined, undo: () => this.done.delete(key) });
    }
    return isFirst;
  }
}
