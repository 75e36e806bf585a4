/** @jest-environment ./test/support/own-environment.mjs */

// Threads are piscina's, which an app need not have: its boot says so.
import { expect, it, jest } from '@jest/globals';
import { uniqueQueueName } from '../../support/redis/redis.js';

jest.unstable_mockModule('piscina', () => {
  throw Object.assign(new Error("Cannot find package 'piscina' imported from here"), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
});
const { JobHandler } = await import('nest-job-queue');
const { startApp } = await import('../app.js');

const name = uniqueQueueName();

@JobHandler(name, { thread: new URL('./threads/work.mjs', import.meta.url) })
class Handler {}

it('an app with a handler in threads but without piscina does not boot, and names it', async () => {
  await expect(startApp({ providers: [Handler] })).rejects.toMatchObject({
    name: 'InvalidOptionError',
    message: `@JobHandler("${name}") on Handler.handle.thread: expected the package piscina, whose threads they are, found none. Run: npm install piscina`,
  });
});

it('an app that only enqueues for it does', async () => {
  await expect(startApp({ providers: [Handler], jobs: { worker: false } })).resolves.toBeDefined();
});
