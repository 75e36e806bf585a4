import type { BatchRecord } from '../model/batch.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { checkCount, checkKnown } from '../validation/validate-options.js';
import type { QueueAccess } from '../store/queue-store.js';

/** Lists unfinished batches; see JobQueue.listBatches. @throws InvalidOptionError */
export async function listBatches(
  queue: Pick<QueueAccess, 'exec'>,
  options: { limit?: number } = {},
): Promise<BatchRecord[]> {
  checkKnown('listBatches', options, ['limit']);
  const { limit = 50 } = options;
  checkCount('limit', limit, 1, LARGEST_PAGE);
  const found = await queue.exec((calls) => calls.batches.list(limit));
  return found.toSorted((a, b) => Number(a.createdAt) - Number(b.createdAt));
}
