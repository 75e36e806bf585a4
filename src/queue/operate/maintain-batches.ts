import type { CallLimit, QueueAccess } from '../store/queue-store.js';
import type { MemberEnd } from '../model/batch.js';
import type { ElsewhereMember } from '../verbs/sweep.js';
import { OpenedQueues } from './opened-queues.js';
import { isFollowUp, sendFollowUps, UnreachedQueues } from './elsewhere.js';

/** The most jobs that one script call looks at, and the most ends that one brings. */
const SLICE = 200;

/** The most slices of one run. */
const MOST_SLICES = 500;

/** How a run of the maintenance differs from the usual one. */
interface Run {
  /** True to look again at batches and jobs that were checked recently. */
  all?: boolean;
  limit?: CallLimit;
  /** Called before each slice. */
  isStopped?: () => boolean;
  /** Receives the jobs that became dead letters, because a job of their `after` did not end well. */
  onFailed?: (ids: readonly string[]) => Promise<void>;
}

/** A queue, and the other queues that it delivers to. */
interface Delivery {
  queue: QueueAccess;
  others: OpenedQueues;
  limit: CallLimit;
  unreached: UnreachedQueues;
}

/**
 * Maintains the batches of a queue and its members of batches elsewhere. Finds unreported ends, cancels the members of
 * stopped batches, and delivers ends and follow-ups to other queues. Several processes may do it at once.
 *
 * @throws the first error of a call for another queue, once the others were called. Its ends stay in the outbox
 */
export async function maintainBatches(queue: QueueAccess, run: Run = {}): Promise<void> {
  throwFirst(await tryToMaintainBatches(queue, run));
}

/** Maintains batches as `maintainBatches` does. Returns the queues that raised an error for another one, each with its first. */
export async function tryToMaintainBatches(
  queue: QueueAccess,
  run: Run = {},
): Promise<ReadonlyMap<string, unknown>> {
  const { all = false, limit = queue.callLimit, isStopped = () => false, onFailed } = run;
  const delivery = deliveryOf(queue, limit);
  const { unreached } = delivery;
  for (let i = 0; i < MOST_SLICES && !isStopped(); i++) {
    const found = await queue.exec(
      (calls) => calls.sweep.maintainBatches({ limit: SLICE, all: all && i === 0 }),
      limit,
    );
    if (!found) {
      break;
    }
    await onFailed?.(found.failed);
    await askOthers(queue, found.elsewhere, delivery);
    const known = unreached.size;
    const delivered = found.hasEnds ? await deliver(delivery) : 0;
    const hasNewUnreached = unreached.size > known; // the next slice leaves their entries out
    if (!found.more && delivered === 0 && !hasNewUnreached) {
      break;
    }
  }
  return unreached.all;
}

function deliveryOf(queue: QueueAccess, limit: CallLimit): Delivery {
  const others = new OpenedQueues(queue, limit);
  return { queue, others, limit, unreached: new UnreachedQueues(queue.name, others) };
}

function throwFirst(unreached: ReadonlyMap<string, unknown>): void {
  for (const error of unreached.values()) {
    throw error;
  }
}

/**
 * Delivers one slice of members' ends and follow-ups to their queues.
 *
 * @throws the first error of a call to another queue; its entries stay in the outbox
 */
export async function deliverEnds(queue: QueueAccess): Promise<void> {
  const delivery = deliveryOf(queue, queue.callLimit);
  await deliver(delivery);
  throwFirst(delivery.unreached.all);
}

/** Delivers the entries of the outbox. If that fails, maintenance tries again and logs its error. */
export async function tryToDeliver(queue: QueueAccess): Promise<void> {
  await deliverEnds(queue).catch(() => undefined);
}

/** Delivers the entries of the outbox, if the reply of a verb says that it has posted some. Returns the outcome of the verb. */
export async function deliverPosted<Outcome extends string>(
  queue: QueueAccess,
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
 */
async function askOthers(
  queue: QueueAccess,
  elsewhere: readonly ElsewhereMember[],
  { others, limit, unreached }: Delivery,
): Promise<void> {
  await unreached.callOthers(elsewhere, async (name, members) => {
    const toCancel = members.filter(({ isStopped }) => isStopped).map(({ id }) => id);
    if (toCancel.length > 0) {
      await others.run(name, (calls) => calls.batches.cancel({ ids: toCancel }));
    }
    const ends = await others.run(name, (calls) => calls.batches.ends({ home: queue.name, members }));
    if (ends.length > 0) {
      await queue.exec((calls) => calls.batches.deliver({ from: name, ends }), limit); // the next slice sends its follow-ups
    }
    return ends.length;
  });
}

/**
 * Delivers ends to batches of other queues, and sends follow-ups there. Returns how many entries have left the outbox.
 * An end leaves it after its batch has it, so it may be delivered twice.
 */
async function deliver(delivery: Delivery): Promise<number> {
  const { queue, others, limit, unreached } = delivery;
  const entries = await queue.exec(
    (calls) => calls.batches.outbox({ limit: SLICE, except: unreached.names }),
    limit,
  );
  return unreached.callOthers(entries, async (name, each) => {
    const followUps = each.filter(isFollowUp);
    const ends = each.filter((entry) => !isFollowUp(entry));
    const delivered = ends.length > 0 ? await deliverTo(name, ends, delivery) : 0;
    const sent = followUps.length > 0 ? await sendFollowUps(queue, others, name, followUps) : 0;
    if (delivered + sent === 0) {
      unreached.leave(name); // it is full, for example, and later slices have room for those of others
    }
    return delivered + sent;
  });
}

/** Delivers ends to one queue. If a batch fires there, sends its follow-ups of further queues. Returns how many ends. */
async function deliverTo(
  name: string,
  ends: readonly MemberEnd[],
  { queue, others, limit, unreached }: Delivery,
): Promise<number> {
  const { hasEnds } = await others.run(name, (calls) => calls.batches.deliver({ from: queue.name, ends }));
  await queue.exec((calls) => calls.batches.acknowledge({ ends }), limit);
  if (hasEnds) {
    // Ends in its outbox are left to that queue. Otherwise queues would deliver for each other without a bound.
    const home = others.accessTo(name);
    const entries = await home.exec((calls) => calls.batches.outbox({ limit: SLICE, except: unreached.names }));
    await unreached.callOthers(entries.filter(isFollowUp), (target, each) =>
      sendFollowUps(home, others, target, each),
    );
  }
  return ends.length;
}
