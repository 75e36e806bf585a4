// A payload that only another client can have written, too large for any worker to load.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

const LARGE = 33 * 1024 * 1024;
let giant: string;

beforeAll(() => {
  giant = JSON.stringify('x'.repeat(LARGE - 2));
});

describe('attempt/claim.lua: a giant payload', () => {
  it('is refused without being loaded, beside a job that runs', async () => {
    const q = testQueue();
    await q.add('giant', {}, giant);
    await q.add('small');
    const { jobs, refused } = await q.run(q.claimCall(2, { mostBytes: 1_000_000 }));
    expect(jobs.map(({ id }) => id)).toEqual(['small']);
    expect(refused).toMatchObject([
      {
        id: 'giant',
        error: {
          name: 'JobOversized',
          message:
            `The payload has ${LARGE} bytes, too many to load. ` +
            'Raise maxPayloadBytes and redrive the job, or discard it.',
        },
        job: { payload: undefined },
      },
    ]);
  });

  it('I3: is refused without being loaded in a repeated claim too', async () => {
    const q = testQueue();
    await q.add('giant', {}, giant);
    const call = q.claimCall(1);
    const first = await q.run(call);
    const second = await expectUnchanged(q, () => q.run(call));
    expect(second.refused.map(({ error }) => error)).toEqual(first.refused.map(({ error }) => error));
    expect(second.jobs).toEqual([]);
  });

  it('is loaded by a worker whose maxPayloadBytes is half as large', async () => {
    const q = testQueue({ maxPayloadBytes: LARGE / 2 });
    await q.add('giant', {}, giant);
    expect((await q.run(q.claimCall(1))).jobs.map(({ id }) => id)).toEqual(['giant']);
  });
});
