import type { BatchRecord } from '../model/batch.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { checkCount, checkFlag, checkKnown } from '../validation/validate-options.js';
import type { QueueAccess } from '../store/queue-store.js';

/** Lists batches; see JobQueue.listBatches. @throws InvalidOptionError */
export async function listBatches(
  queue: Pick<QueueAccess, 'exec'>,
  options: { offset?: number | undefined; limit?: number | undefined; ended?: boolean | undefined } = {},
): Promise<BatchRecord[]> {
  checkKnown('listBatches', options, ['offset', 'limit', 'ended']);
  const { offset = 0, limit = 50, ended = false } = options;
  checkFlag('ended', ended);
  checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
  checkCount('limit', limit, 1, LARGEST_PAGE);
  return queue.exec((calls) => calls.batches.list(offset, limit, ended));
}
