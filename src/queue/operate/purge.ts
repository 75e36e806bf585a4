import type { Logged } from '../actions/action-log.js';
import { onQueue } from '../actions/noted-action.js';
import { checkKnown, checkObject } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { maintainBatches } from './maintain-batches.js';
import type { QueueAccess } from '../store/queue-store.js';

/** The most jobs that one script call deletes. */
const SLICE = 500;

/** The options of a purge. */
export interface PurgeOptions {
  /** The name of the queue, against accidents. */
  confirm: string;
  /**
   * True to delete every key of the queue: also schedules, pauses, limits, counters, history and logs. The queue must
   * have no live worker. It scans the whole database. @default false
   */
  everything?: boolean | undefined;
}

/** The queue of a purge. */
/**
 * Deletes all jobs of a queue, in bounded slices; see JobQueue.purge.
 *
 * @throws InvalidOptionError
 */
export async function purge(queue: QueueAccess & Logged, options: PurgeOptions): Promise<number> {
  checkObject('purge', '{ confirm: the name of the queue }', options);
  checkKnown('purge', options, ['confirm', 'everything']);
  const { confirm, everything = false } = options;
  if (confirm !== queue.name) {
    throw new InvalidOptionError('purge confirm', `the queue's name, ${JSON.stringify(queue.name)}`, show(confirm));
  }
  if (typeof everything !== 'boolean') {
    throw new InvalidOptionError('purge everything', 'true or false', show(everything));
  }
  if (everything) {
    await refuseWithWorkers(queue);
    return purgeSlices(queue, true); // the log goes too
  }
  return queue.actionLog.record(onQueue('purge'), () => purgeSlices(queue, false), { count: Number });
}

async function purgeSlices(queue: QueueAccess, everything: boolean): Promise<number> {
  let total = 0;
  for (;;) {
    const { deleted, more } = await queue.exec((calls) => calls.purge({ limit: SLICE }));
    total += deleted;
    if (!more) {
      await maintainBatches(queue, { all: true }); // the members are gone: their batches may fire
      if (everything) {
        await queue.store.erase(await queue.calls(), queue.callLimit);
      }
      return total;
    }
  }
}

/** Refuses a queue with a live worker, which relies on fences that grow. @throws InvalidOptionError */
async function refuseWithWorkers(queue: QueueAccess): Promise<void> {
  const { workers } = await queue.exec((calls) => calls.stats());
  if (workers > 0) {
    throw new InvalidOptionError(
      'purge everything',
      'a queue without live workers',
      String(workers),
      'Stop its workers first. A killed worker counts for 30 s.',
    );
  }
}
