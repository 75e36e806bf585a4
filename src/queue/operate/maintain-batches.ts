import type { CallLimit, QueueAccess } from '../store/queue-store.js';
import type { MemberEnd } from '../model/batch.js';
import type { ElsewhereMember } from '../store/verbs/batch-verbs.js';
import { groupBy } from '../runtime/group-by.js';
import { OpenedQueues } from './opened-queues.js';
import { isFollowUp, sendFollowUps, type OutboxQueue } from './elsewhere/send-follow-ups.js';

/** The most jobs that one script call looks at, and the most ends that one brings. */
const SLICE = 200;

/** The most slices of one run. */
const MOST_SLICES = 500;

type Queue = Pick<QueueAccess, 'name' | 'options' | 'store' | 'exec' | 'callLimit'>;

/**
 * Maintains the batches of a queue and its members of batches elsewhere. Finds unreported ends, cancels the members of
 * stopped batches, and delivers ends and follow-ups to other queues. Several processes may do it at once.
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
 * Delivers one slice of members' ends and follow-ups to their queues.
 *
 * @throws the error of a call to another queue; the entries stay in the outbox
 */
export async function deliverEnds(queue: Queue): Promise<void> {
  await deliver(queue, new OpenedQueues(queue, queue.callLimit), queue.callLimit);
}

/** Delivers the entries of the outbox. If that fails, maintenance tries again and logs its error. */
export async function tryToDeliver(queue: Queue): Promise<void> {
  await deliverEnds(queue).catch(() => undefined);
}

/** Delivers the entries of the outbox, if the reply of a verb says that it has posted some. Returns the outcome of the verb. */
export async function deliverPosted<Outcome extends string>(
  queue: Queue,
  reply: Outcome | 'posted',
  outcome: Outcome,
): Promise<Outcome> {
  if (reply !== 'posted') {
    return reply;
  }
  await tryToDeliver(queue);
  return outcome;
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
        await queue.exec((calls) => calls.batches.deliver(name, ends), limit); // the next slice sends its follow-ups
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
 * Delivers ends to batches of other queues, and sends follow-ups there. Returns how many entries have left the outbox.
 * An end leaves it after its batch has it, so it may be delivered twice.
 */
async function deliver(queue: OutboxQueue, others: OpenedQueues, limit: CallLimit): Promise<number> {
  const entries = await queue.exec((calls) => calls.batches.outbox(SLICE), limit);
  return forEachQueue(entries, async (name, each) => {
    const followUps = each.filter(isFollowUp);
    const ends = each.filter((entry) => !isFollowUp(entry));
    const delivered = ends.length > 0 ? await deliverTo(name, ends, { queue, others, limit }) : 0;
    return delivered + (followUps.length > 0 ? await sendFollowUps(queue, others, name, followUps) : 0);
  });
}

/** Delivers ends to one queue. If a batch fires there, sends its follow-ups of further queues. Returns how many ends. */
async function deliverTo(
  name: string,
  ends: readonly MemberEnd[],
  { queue, others, limit }: { queue: OutboxQueue; others: OpenedQueues; limit: CallLimit },
): Promise<number> {
  const { hasEnds } = await others.run(name, (calls) => calls.batches.deliver(queue.name, ends));
  await queue.exec((calls) => calls.batches.acknowledge(ends), limit);
  if (hasEnds) {
    // Ends in its outbox are left to that queue. Otherwise queues would deliver for each other without a bound.
    const home: OutboxQueue = { name, exec: (build) => others.run(name, build) };
    const entries = await home.exec((calls) => calls.batches.outbox(SLICE));
    await forEachQueue(entries.filter(isFollowUp), (target, each) => sendFollowUps(home, others, target, each));
  }
  return ends.length;
}

/**
 * Sends the entries of an outbox to each of their queues. Returns how many have left it.
 *
 * @throws the first error, after all queues were asked
 */
async function forEachQueue(
  entries: readonly MemberEnd[],
  send: (name: string, entries: readonly MemberEnd[]) => Promise<number>,
): Promise<number> {
  let failure: unknown;
  let left = 0;
  for (const [name, each] of groupBy(entries, (entry) => entry.queue)) {
    try {
      left += await send(name, each);
    } catch (error) {
      failure ??= error; // the others are asked first
    }
  }
  if (failure !== undefined) {
    throw failure;
  }
  return left;
}
