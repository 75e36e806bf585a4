import type { QueueAccess } from '../store/queue-store.js';
import type { OpenMember } from '../verbs/batch.js';
import { groupBy } from '../runtime/collections.js';
import { OpenedQueues } from './opened-queues.js';

/** The most batches that one look reads, and the most members of each. The doctor reads all. */
const BATCHES = 10;
const MEMBERS = 20;

/** A member that is gone although its batch waits for it. */
export type LostMember = OpenMember;

/**
 * Finds members for which a batch of the queue waits although they are nowhere, in this queue or another. It reads the
 * oldest open members of a few batches, so its cost has a bound.
 */
export async function lostMembers(queue: QueueAccess): Promise<LostMember[]> {
  const read = () => queue.exec((calls) => calls.batches.openMembers({ batches: BATCHES, members: MEMBERS }));
  const others = new OpenedQueues(queue, queue.callLimit);
  const lost: LostMember[] = [];
  for (const [name, members] of groupBy(await read(), (member) => member.queue)) {
    const ends = await others.run(name, (calls) => calls.batches.ends({ home: queue.name, members }));
    // A report that is on its way has a number.
    const gone = new Set(ends.filter(({ number, state }) => number === '0' && state === 'removed').map(keyOf));
    lost.push(...members.filter((member) => gone.has(keyOf(member))));
  }
  if (lost.length === 0) {
    return lost;
  }
  const open = new Set((await read()).map(placeOf)); // a member may have ended between the two reads
  return lost.filter((member) => open.has(placeOf(member)));
}

function keyOf({ batch, id }: { batch: string; id: string }): string {
  return `${batch}\t${id}`;
}

function placeOf(member: OpenMember): string {
  return `${member.queue}\t${keyOf(member)}`;
}
