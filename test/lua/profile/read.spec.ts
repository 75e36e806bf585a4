import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { asked, servedQueue } from './served-queue.js';

it('reads nothing where none was asked for, and leaves the content out unless it is asked for', async () => {
  expect(await testQueue().run(testQueue().scripts.profiles.read())).toBeNull();
  const q = await servedQueue('invoice');
  await asked(q);
  await q.redis.hset(q.keys.profile, 'content', 'abc');
  const { read, download } = q.scripts.profiles;
  expect(await q.run(read())).toMatchObject({ bytes: 3, forMs: 1_000 });
  expect(await q.run(download())).toMatchObject({ content: 'abc' });
});
