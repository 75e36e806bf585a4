import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { CallLimit, QueueStore } from '../../queue/store/queue-store.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';

/** Wakes another worker of a queue in place of this one. An error does no harm, because a look finds the job. */
export async function passWake(
  { store, worker }: { store: QueueStore; worker: string },
  { name, calls }: { name: string; calls: StoreCalls },
  limit: CallLimit,
): Promise<void> {
  try {
    await store.exec(calls.workers.passWake({ worker }), limit);
  } catch (error) {
    SafeLogger.of(store.logger).debug(
      `Could not wake another worker of queue "${name}"; a look finds its job`,
      error,
    );
  }
}
