/** @jest-environment ./test/support/own-environment.mjs */
import { expect, it, jest } from '@jest/globals';

jest.unstable_mockModule('#worker/threads/thread-entry.cjs', () => ({ file: undefined }));
const { ThreadPool } = await import('#worker/threads/thread-pool.js');

it('does not let a bundle that the library is part of begin again in each thread', async () => {
  const pool = new ThreadPool({ subject: 'thread', file: '/app/work.js', graceMs: 5_000 });
  await expect(pool.open(1)).rejects.toMatchObject({
    name: 'InvalidOptionError',
    message:
      'thread: expected the library as files, of which a thread loads one, found it in a bundle. ' +
      'Mark nest-job-queue, piscina, @nestjs/common and @nestjs/core as external.',
  });
});
