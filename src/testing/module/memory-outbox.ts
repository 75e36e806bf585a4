import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { resolveQueueOptions } from '../../queue/model/queue-options.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type { OutboxWriter, StoredIn, TransactionHandle } from '../../queue/store/verbs/outbox-writer.js';
import type { MemoryStore } from '../memory-store/memory-store.js';

/** Replaces the outbox in a test. It takes every transaction, and adds its jobs at once. */
export class MemoryOutbox implements OutboxWriter {
  private readonly done = new Set<string>();
  private hasWarned = false;

  constructor(
    private readonly memory: MemoryStore,
    private readonly logger: SafeLogger,
  ) {}

  async store(_stored: StoredIn, queue: string, jobs: readonly EncodedJob[]): Promise<void> {
    if (!this.hasWarned) {
      this.hasWarned = true;
      this.logger.log('No JobOutboxModule: jobs of transactions are added at once, also if these roll back.');
    }
    const calls = this.memory.callsOf(queue, resolveQueueOptions(`queue "${queue}"`, {}));
    await this.memory.exec(calls.enqueue(jobs));
  }

  async markDone(_transaction: TransactionHandle, queue: string, job: string): Promise<boolean> {
    const key = `${queue}\t${job}`;
    const isFirst = !this.done.has(key);
    this.done.add(key);
    return isFirst;
  }
}
