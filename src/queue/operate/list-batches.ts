import type { BatchRecord } from '../model/batch.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { checkCount, checkFlag, checkKnown } from '../validation/validate-options.js';
import type { QueueAccess } from '../store/queue-store.js';

/** Lists batches; see JobQueue.listBatches. @throws InvalidOptionError */
export async function listBatches(
  queue: Pick<QueueAccess, 'exec'>,
  options: { limit?: number; ended?: boolean } = {},
): Promise<BatchRecord[]> {
  checkKnown('listBatches', options, ['limit', 'ended']);
  const { limit = 50, ended = false } = options;
  checkFlag('ended', ended);
  checkCount('limit', limit, 1, LARGEST_PAGE);
  return queue.exec((calls) => calls.batches.list(limit, ended));
}
