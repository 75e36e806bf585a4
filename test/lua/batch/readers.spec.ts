import { expect, it } from '@jest/globals';
import { expectUnchanged, queueWith } from '../../support/queue/queue-state.js';

it('tells jobs that may still read from those that have ended well or are gone, and changes nothing', async () => {
  const q = await queueWith('done', 'dead');
  const [done, dead] = await q.claim(2);
  await q.complete(done!);
  await q.fail(dead!, { final: true });
  await q.addAll('runs');
  await q.claim(1);
  await q.addAll('waits', 'gone');
  await q.run(q.scripts.cancel({ id: 'gone' }));
  await q.add('later', { delay_ms: 60_000 });
  const ids = ['done', 'dead', 'runs', 'waits', 'gone', 'nobody', 'later'];
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.batches.readers({ ids }))).toEqual([false, true, true, true, false, false, true]);
  });
});
