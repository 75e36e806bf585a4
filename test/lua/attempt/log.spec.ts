import { expect, it } from '@jest/globals';
import { expectUnchanged, type TestQueue, claimedJob } from '../../support/queue/queue-state.js';

async function messages(q: TestQueue): Promise<unknown[]> {
  const log = (await q.field('a', 'log')) ?? '';
  return log.split('\n').map((line) => (JSON.parse(line) as { message: unknown }).message);
}

it('I5: appends lines with the time of the server, the newest up to the cap', async () => {
  const { q, job } = await claimedJob('a');
  expect(await q.run(q.scripts.log({ claim: job, keep: 3, lines: ['"one"', '"two\\n"'] }))).toBe(true);
  await q.run(q.scripts.log({ claim: job, keep: 3, lines: ['"three"', '"four"'] }));
  expect(await messages(q)).toEqual(['two\n', 'three', 'four']);
  const { at } = JSON.parse((await q.field('a', 'log'))!.split('\n')[0]!) as { at: number };
  expect(Math.abs(at - (await q.now()))).toBeLessThan(5_000);
});

it('takes more lines at once than it keeps', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.log({ claim: job, keep: 2, lines: ['1', '2', '3', '4', '5'] }));
  expect(await messages(q)).toEqual([4, 5]);
});

it('repeated after a lost reply it adds the lines twice, as its header says', async () => {
  const { q, job } = await claimedJob('a');
  const call = q.scripts.log({ claim: job, keep: 10, lines: ['"one"'] });
  await q.run(call);
  await q.run(call);
  expect(await messages(q)).toEqual(['one', 'one']);
});

it('I2: is refused to a lost claim and to a missing job', async () => {
  const { q, job } = await claimedJob('a');
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.log({ claim: { ...job, token: 'stale' }, keep: 5, lines: ['1'] })),
    await q.run(q.scripts.log({ claim: { id: 'missing', token: 't' }, keep: 5, lines: ['1'] })),
  ]);
  expect(answers).toEqual([false, false]);
});
