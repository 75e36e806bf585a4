import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue-state.js';

/** The worker of a claimed job dies, and a sweep finds its claim. */
async function die(q: TestQueue, id: string): Promise<void> {
  await q.expireClaims(id);
  await q.run(q.scripts.reclaim(500, Number.MAX_SAFE_INTEGER, 0));
}

/** Adds a job and lets workers die with it. */
async function addCrashed(q: TestQueue, id: string, times: number): Promise<void> {
  await q.add(id);
  for (let i = 0; i < times; i++) {
    await q.claim(1);
    await die(q, id);
  }
}

async function claimAlone(q: TestQueue) {
  const [job] = await q.claim(1, { isolates: true });
  return job!;
}

describe('start.lua', () => {
  it('until then a job on its last chance is held: its worker may die, and it is not charged', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    expect(await claimAlone(q)).toMatchObject({ id: 'a', attempt: 3, alone: true });
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '2', crashes: '2', interruptions: '1' });
    expect((await q.attemptLog('a')).map(({ outcome }) => outcome)).toEqual(['crash', 'crash', 'interruption']);
  });

  it('from then on it is charged; repeated it changes nothing', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    expect(await q.run(q.scripts.start(job))).toBe(true);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start(job)))).toBe(true);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '3' });
  });

  it('I2: says that a claim is lost, and writes nothing', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start({ ...job, token: 'x' })))).toBe(false);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start({ id: 'gone', token: 't' })))).toBe(false);
  });
});

describe('a job on its last chance', () => {
  it('has crashed, and has one attempt left', async () => {
    const q = testQueue({ maxAttempts: 2, maxCrashes: 9 });
    await addCrashed(q, 'a', 1);
    expect((await claimAlone(q)).alone).toBe(true);
  });

  it('is none that has others, nor one whose attempts only failed', async () => {
    const crashed = testQueue({ maxAttempts: 9, maxCrashes: 3 });
    await addCrashed(crashed, 'a', 1);
    expect((await claimAlone(crashed)).alone).toBe(false);
    const failed = testQueue({ maxAttempts: 2 });
    const job = await failed.addAndClaim('a');
    const error = { name: 'Error', message: 'failed' };
    await failed.run(failed.scripts.fail([{ ...job, error, final: false, backoffMs: 0 }]));
    expect((await claimAlone(failed)).alone).toBe(false);
  });

  it('is not held for a claimer that starts everything at once, and is charged', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const [job] = await q.claim(1);
    expect(job!.alone).toBe(false);
    await die(q, 'a');
    expect(await q.status('a')).toBe('failed');
  });

  it('is charged by one that starts it at once, after another had held it', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    await claimAlone(q);
    await die(q, 'a');
    await q.claim(1);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '3' });
  });

  it('I3: is told of again where the claim is repeated', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const first = await q.claim(1, { isolates: true, token: 't' });
    expect(await expectUnchanged(q, () => q.claim(1, { isolates: true, token: 't' }))).toMatchObject([
      { id: 'a', alone: true, fence: first[0]!.fence },
    ]);
  });

  it('has all its chances again after a redrive', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 3);
    expect(await q.run(q.scripts.redrive(['a']))).toBe(1);
    expect((await claimAlone(q)).alone).toBe(false);
    await die(q, 'a');
    expect((await claimAlone(q)).alone).toBe(false);
  });
});
