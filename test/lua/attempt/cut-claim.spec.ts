// An append-only file that ends within a claim may leave the filler of lua/lib/settle/claim_ids in `claims`. It is no job.
import { beforeEach, expect, it } from '@jest/globals';
import { cutScript } from '../../support/queue/cut-script.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const IDS = Array.from({ length: 8 }, (_, i) => `job-${i}`);

let q: TestQueue;

/** Claims jobs up to the write after which `claims` has a member that is no job. */
async function cutBehindFiller(): Promise<TestQueue> {
  for (let n = 1; ; n++) {
    const cut = testQueue();
    cut.broken = true;
    await cut.addAll(...IDS);
    expect(await cutScript(cut.redis, cut.claimCall(IDS.length), n)).toBe(true);
    if ((await cut.redis.zcard(cut.keys.claims)) > IDS.length) {
      return cut;
    }
  }
}

beforeEach(async () => {
  q = await cutBehindFiller();
});

it('is dropped by the next claim of many jobs', async () => {
  await q.addAll(...IDS.map((id) => `next-${id}`));
  await q.claim(IDS.length);
  expect(await q.redis.zcard(q.keys.claims)).toBe(2 * IDS.length);
});

it('counts as no job at work, before and after it expires', async () => {
  expect(await q.run(q.scripts.stats())).toMatchObject({ processing: IDS.length, expiredClaims: 0 });
  await q.expireClaims(...(await q.ranked(q.keys.claims)));
  expect(await q.run(q.scripts.stats())).toMatchObject({ processing: IDS.length, expiredClaims: IDS.length });
});

it('is dropped by a reclaim, and becomes no dead letter', async () => {
  await q.expireClaims(...(await q.ranked(q.keys.claims)));
  const { reclaimed } = await q.run(
    q.scripts.sweep.reclaim({ limit: 100, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }),
  );
  expect(reclaimed.map(({ id }) => id).toSorted()).toEqual(IDS);
  expect(await q.redis.zcard(q.keys.claims)).toBe(0);
  expect(await q.redis.zcard(q.keys.dead)).toBe(0);
  expect(await q.total('reclaimed')).toBe(IDS.length);
});

it('is found by the doctor, whose repair drops it', async () => {
  const { doctor } = q.scripts;
  const claims = await q.ranked(q.keys.claims);
  const { faults } = await q.run(doctor.inspect({ ids: claims, repair: true }));
  expect(faults).toMatchObject([{ kind: 'ghost' }]);
  expect((await q.ranked(q.keys.claims)).toSorted()).toEqual(IDS);
  expect(await q.redis.zcard(q.keys.dead)).toBe(0);
});
