// Sends follow-ups of batches to other queues, each once; see docs/internals/batches.md.
import { FOLLOW_UP_KINDS, type MemberEnd } from '../../model/batch.js';
import type { QueueAccess } from '../../store/queue-store.js';
import type { OnceEntry, OnceReply } from '../../verbs/once.js';
import type { OpenedQueues } from '../opened-queues.js';

/** The most marks of earlier senders that one call looks at. */
const MOST_MARKS = 100;

/** Returns whether an entry of an outbox is a follow-up, and not the end of a job. */
export function isFollowUp({ state }: MemberEnd): boolean {
  return FOLLOW_UP_KINDS.some((kind) => kind === state);
}

/**
 * Sends follow-ups to one queue, and acknowledges them. A follow-up that the queue refuses stays in the outbox. Returns
 * how many have left it.
 *
 * @throws the error of a call to one of the queues; the entries stay in the outbox
 */
export async function sendFollowUps(
  home: QueueAccess,
  others: OpenedQueues,
  name: string,
  entries: readonly MemberEnd[],
): Promise<number> {
  const source = `@batch-of:${home.name}`;
  const marks = await others.run(name, (calls) => calls.once.marks({ source, limit: MOST_MARKS }));
  const marked = marks.flatMap((mark) => entryOf(name, mark) ?? []);
  const asked = [...entries, ...marked.filter((mark) => !entries.some((entry) => keyOf(entry) === keyOf(mark)))];
  const attempt = async (leastFence?: number) => {
    const { fence, pending } = await home.exec((calls) => calls.batches.followUps({ entries: asked, leastFence }));
    const jobs = pending.flatMap(({ entry, job }) => (job ? [{ entry, job }] : []));
    const once = jobs.map(({ entry, job }): OnceEntry => ({ key: keyOf(entry), job }));
    const sender = { source, fence, isUnbounded: true } as const;
    const reply = await others.run(name, (calls) => calls.once.enqueue({ sender, entries: once }));
    return { fence, pending, jobs, reply };
  };
  let sent = await attempt();
  if ('newerFence' in sent.reply) {
    sent = await attempt(sent.reply.newerFence);
  }
  const { fence, pending, jobs, reply } = sent;
  if ('newerFence' in reply) {
    return 0; // another sender has read later, and sends them
  }
  const done = jobs.filter((_, i) => isThere(reply.replies[i]!)).map(({ entry }) => entry);
  if (done.length > 0) {
    others.register(name);
  }
  if ((await home.exec((calls) => calls.batches.acknowledge({ ends: done, fence }))) < 0) {
    return 0;
  }
  const kept = new Set(pending.map(({ entry }) => keyOf(entry)));
  const left = marked.map(keyOf).filter((key) => !kept.has(key));
  const keys = [...new Set([...done.map(keyOf), ...left])];
  await (keys.length > 0 && others.run(name, (calls) => calls.once.forget({ source, keys })));
  return done.length;
}

/** Returns the key of an entry's mark. A batch that gets the id of a forgotten one has another number. */
function keyOf({ number, batch, id }: MemberEnd): string {
  return `${number}\t${batch}\t${id}`;
}

function entryOf(queue: string, mark: string): MemberEnd | undefined {
  const [number, batch, id] = mark.split('\t');
  return number !== undefined && batch !== undefined && id !== undefined
    ? { queue, batch, id, number, state: '', detail: '' }
    : undefined;
}

/** Returns whether the job is in its queue, now or before. */
function isThere(reply: OnceReply): boolean {
  return reply.outcome !== 'held' && reply.outcome !== 'refused' && !('full' in reply && reply.full);
}
