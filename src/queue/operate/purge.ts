import { checkKnown, checkObject } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { tendBatches } from './tend-batches.js';
import type { QueueAccess } from '../store/queue-store.js';

/** The most jobs that one script call deletes. */
const SLICE = 500;

/**
 * Deletes all jobs of a queue, in bounded slices; see JobQueue.purge.
 *
 * @param ask what each question to Redis goes through, for a time limit of the caller's
 * @throws InvalidOptionError
 */
export async function purge(
  queue: Pick<QueueAccess, 'name' | 'exec' | 'options' | 'store' | 'callLimit'>,
  options: { confirm: string },
  ask: <Reply>(question: () => Promise<Reply>) => Promise<Reply> = (question) => question(),
): Promise<number> {
  checkObject('purge', '{ confirm: the name of the queue }', options);
  checkKnown('purge', options, ['confirm']);
  const { confirm } = options;
  if (confirm !== queue.name) {
    throw new InvalidOptionError('purge confirm', `the queue's name, ${JSON.stringify(queue.name)}`, show(confirm));
  }
  let total = 0;
  for (;;) {
    const { deleted, more } = await ask(() => queue.exec((calls) => calls.purge(SLICE)));
    total += deleted;
    if (!more) {
      await ask(() => tendBatches(queue, { all: true })); // the members are gone: their batches may fire
      return total;
    }
  }
}
