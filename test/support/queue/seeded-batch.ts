// A batch `b` with a follow-up, whose members wait; and jobs that are members of a batch in another queue.
import { followUpRef, refTo } from '#queue/store/job-ref.js';
import { testQueue, type TestQueue } from './queue-state.js';

const THEN = {
  kind: 'then',
  name: 'then',
  payload: '1',
  options: { batch: followUpRef('b') },
} as const;

export const DEFINITION = {
  id: 'b',
  hasOwnId: true,
  failFast: false,
  resultTtlMs: 60_000,
  recordTtlMs: 604_800_000,
  followUps: [THEN],
};

/** Returns a queue with the batch, of these members. */
export async function seededBatch(...members: string[]): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.batches.create(DEFINITION));
  await addMembers(q, 'b', members);
  return q;
}

/** Returns a queue with members of the batch `b` in the queue `home`. */
export async function seededRemoteMembers(...members: string[]): Promise<TestQueue> {
  const q = testQueue();
  await addMembers(q, refTo('home', 'b'), members);
  return q;
}

async function addMembers(q: TestQueue, batch: string, ids: readonly string[]): Promise<void> {
  const options = { batch };
  await q.run(q.scripts.enqueue(ids.map((id) => ({ id, name: q.name, payload: '{}', options }))));
}
