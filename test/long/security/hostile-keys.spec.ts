// Every key of a queue, spoiled in every way; test/security has a share of it.
import { expect, it, jest } from '@jest/globals';
import { JobSearch } from '#dashboard/job-search.js';
import { attackKeys } from '../../security/key-attack.js';
import { Windows } from '../../security/windows.js';

it('breaks no window, shows no secret, and changes nothing', async () => {
  await attackKeys(await new Windows().open(), 1);
}, 1_800_000); // a busy machine needs a quarter of an hour

it('finds a read that changes', async () => {
  const windows = await new Windows().open();
  jest.spyOn(JobSearch.prototype, 'search').mockImplementation(async (queue) => {
    await queue.pause();
    return { jobs: [], searched: 0, unread: 0, total: 0, cursor: null };
  });
  await expect(attackKeys(windows, 20)).rejects.toThrow('changed unasked');
});
