import type { CallLimit, QueueAccess } from '../store/queue-store.js';
import type { ElsewhereMember } from '../store/verbs/batch-verbs.js';
import { groupBy } from '../runtime/group-by.js';
import { OpenedQueues } from './opened-queues.js';

/** The most jobs that one script call looks at, and the most ends that one brings. */
const SLICE = 200;

/** The most slices of one run. */
const MOST_SLICES = 500;

type Queue = Pick<QueueAccess, 'name' | 'options' | 'store' | 'exec' | 'callLimit'>;

/**
 * Maintains the batches of a queue and its members of batches elsewhere. Finds unreported ends, cancels the members of
 * stopped batches, and delivers ends to batches of other queues. Several processes may do it at once.
 *
 * @param options.all true to look again at batches and jobs that were checked recently
 * @param options.isStopped called before each slice
 * @param options.onFailed receives the jobs that became dead letters, because a job of their `after` did not end well
 * @throws the error of a call to another queue; the ends stay in the outbox
 */
export async function maintainBatches(
  queue: Queue,
  options: {
    all?: boolean;
    limit?: CallLimit;
    isStopped?: () => boolean;
    onFailed?: (ids: readonly string[]) => Promise<void>;
  } = {},
): Promise<void> {
  const { all = false, limit = queue.callLimit, isStopped = () => false, onFailed } = options;
  const others = new OpenedQueues(queue, limit);
  for (let i = 0; i < MOST_SLICES && !isStopped(); i++) {
    const found = await queue.exec((calls) => calls.sweep.maintainBatches(SLICE, all && i === 0), limit);
    if (!found) {
      return;
    }
    await onFailed?.(found.failed);
    await askOthers(queue, others, found.elsewhere, limit);
    const delivered = found.hasEnds ? await deliver(queue, others, limit) : 0;
    if (!found.more && delivered === 0) {
      return;
    }
  }
}

/**
 * Delivers one slice of members' ends to the queues of their batches.
 *
 * @throws the error of a call to another queue; the ends stay in the outbox
 */
export async function deliverEnds(queue: Queue): Promise<void> {
  await deliver(queue, new OpenedQueues(queue, queue.callLimit), queue.callLimit);
}

/**
 * Cancels members in other queues of stopped batches. Then takes the ends that those queues may never
 * report: the member is gone, or nobody maintains its queue.
 *
 * @throws the first error of a call to another queue, after all queues were asked
 */
async function askOthers(
  queue: Queue,
  others: OpenedQueues,
  elsewhere: readonly ElsewhereMember[],
  limit: CallLimit,
): Promise<void> {
  let failure: unknown;
  for (const [name, members] of groupBy(elsewhere, (member) => member.queue)) {
    try {
      const toCancel = members.filter(({ isStopped }) => isStopped).map(({ id }) => id);
      if (toCancel.length > 0) {
        await others.run(name, (calls) => calls.batches.cancel(toCancel));
      }
      const ends = await others.run(name, (calls) => calls.batches.ends(queue.name, members));
      if (ends.length > 0) {
        await queue.exec((calls) => calls.batches.deliver(name, ends), limit);
      }
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) {
    throw failure;
  }
}

/**
 * Delivers ends to batches of other queues, and returns how many. An end leaves the outbox after its batch has it, so it
 * may be delivered twice.
 */
async function deliver(queue: Queue, others: OpenedQueues, limit: CallLimit): Promise<number> {
  const ends = await queue.exec((calls) => calls.batches.outbox(SLICE), limit);
  let failure: unknown;
  for (const [name, each] of groupBy(ends, ({ queue: home }) => home)) {
    try {
      await others.run(name, (calls) => calls.batches.deliver(queue.name, each));
      await queue.exec((calls) => calls.batches.acknowledge(each), limit);
    } catch (error) {
      failure ??= error; // the others are delivered first
    }
  }
  if (failure !== undefined) {
    throw failure;
  }
  return ends.length;
}
