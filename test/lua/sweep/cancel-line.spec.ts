// The members of stopped batches leave the plain line by a walk, in slices.
import { expect, it } from '@jest/globals';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { DEFINITION, seededBatch, seededRemoteMembers } from '../../support/queue/seeded-batch.js';

const SLICE = 200;

function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

async function addMembers(q: TestQueue, members: readonly string[]): Promise<void> {
  const options = { batch: DEFINITION.id };
  await q.run(q.scripts.enqueue(members.map((id) => ({ id, name: q.name, payload: '{}', options }))));
}

/** Returns a line of other jobs, in between of which a stopped batch has its members. Nobody claims from it. */
async function stoppedBatch(members: number, others: number, cuts = 3): Promise<TestQueue> {
  const q = await seededBatch();
  for (let i = 0; i < cuts; i++) {
    await q.addAll(...ids(`before-${i}-`, others));
    await addMembers(q, ids(`member-${i}-`, members));
  }
  await q.addAll(...ids('after-', others));
  await q.run(q.scripts.batches.seal({ id: DEFINITION.id }));
  await q.run(q.scripts.batches.stop({ id: DEFINITION.id }));
  return q;
}

/** Maintains until nothing is left to do. Returns the number of calls. */
async function maintain(q: TestQueue): Promise<number> {
  const most = 200;
  for (let calls = 1; calls <= most; calls++) {
    const found = await q.run(q.scripts.sweep.maintainBatches({ limit: SLICE, all: false }));
    if (!found?.more) {
      return calls;
    }
  }
  throw new Error(`More than ${most} calls.`);
}

async function statusOf(q: TestQueue) {
  const { state, open, cancelled } = (await q.run(q.scripts.batches.status({ id: DEFINITION.id })))!;
  return { state, open, cancelled };
}

it('ends all members of a line longer than one slice, and keeps the others in their order', async () => {
  const q = await stoppedBatch(1_000, 700);
  const others = (await q.pending()).filter((id) => !id.startsWith('member'));
  await maintain(q);
  expect(await statusOf(q)).toMatchObject({ open: 0, cancelled: 3_000 });
  expect(await q.pending()).toEqual(others);
});

it('takes a number of calls that grows with the line and not faster', async () => {
  const calls = [];
  for (const members of [500, 1_000, 2_000]) {
    calls.push(await maintain(await stoppedBatch(members, 0)));
  }
  const [small, middle, large] = calls as [number, number, number];
  expect(middle).toBeLessThanOrEqual(2 * small + 2);
  expect(large).toBeLessThanOrEqual(4 * small + 4);
});

it('finds members although the line changes between two slices', async () => {
  const q = await stoppedBatch(400, 900);
  for (let i = 0; ; i++) {
    const found = await q.run(q.scripts.sweep.maintainBatches({ limit: SLICE, all: false }));
    if (!found?.more) break;
    await q.addAll(`late-${i}`);
    const claimed = await q.claim(20);
    await q.run(
      q.scripts.release(
        claimed.slice(0, 10).map((job) => ({ ...job, reason: 'interruption' as const, delayMs: 0 })),
      ),
    );
  }
  expect((await q.pending()).filter((id) => id.startsWith('member'))).toEqual([]);
});

it('ends members that join while the walk is on its way', async () => {
  const q = await stoppedBatch(700, 700);
  const walks = () => q.redis.hexists(q.keys.sweep, 'line_from');
  while (!(await walks())) {
    await q.run(q.scripts.sweep.maintainBatches({ limit: SLICE, all: false }));
  }
  await q.redis.hdel(q.keys.batchRecord(DEFINITION.id), 'sealed_at_ms');
  await addMembers(q, ids('member-late-', 3));
  await maintain(q);
  await q.run(q.scripts.sweep.maintainBatches({ limit: SLICE, all: true }));
  await maintain(q);
  expect(await statusOf(q)).toMatchObject({ open: 0, cancelled: 2_103 });
});

it('removes the id of a member that an earlier step ended before it broke off', async () => {
  const q = await stoppedBatch(2, 1, 1);
  q.broken = true;
  await q.redis.hset(q.keys.job('member-0-0'), 'status', 'cancelled', 'cancel_requested_at_ms', 1);
  await maintain(q);
  expect(await q.pending()).toEqual(['before-0-0', 'after-0']);
});

it('ends members of a batch in another queue, which that queue walks on for', async () => {
  const q = await seededRemoteMembers();
  const members = ids('member-', 3_000);
  await q.run(
    q.scripts.enqueue(members.map((id) => ({ id, name: q.name, payload: '{}', options: { batch: 'home\tb' } }))),
  );
  await q.run(q.scripts.batches.cancel({ ids: members.slice(0, 200) }));
  await q.run(q.scripts.batches.cancel({ ids: members.slice(200) }));
  await maintain(q);
  expect(await q.pending()).toEqual([]);
  expect(await q.redis.llen(q.keys.cancelled)).toBeGreaterThan(0);
});
