import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

it('names the jobs that may be wrong, and no sound one', async () => {
  const { q, doctor } = examined();
  await q.addAll('cancelled', 'listed', 'ended', 'claimed');
  await q.run(q.scripts.cancel({ id: 'cancelled' }));
  await q.add('odd', { delay_ms: 60_000 });
  await q.claim(1);
  const [claimed] = await q.claim(1);
  await q.run(q.scripts.complete([{ ...claimed!, result: '' }]));
  await q.redis.hset(q.keys.job('odd'), 'status', 'completed');
  q.broken = true;
  const looks = await q.run(doctor.scan({ ids: ['cancelled', 'listed', 'ended', 'claimed', 'odd', 'none'] }));
  expect(Object.fromEntries(looks)).toEqual({
    claimed: { verdict: 'nowhere', status: 'pending' },
    odd: { verdict: 'odd', status: 'completed' },
    none: { verdict: 'absent', status: '' },
  });
});
