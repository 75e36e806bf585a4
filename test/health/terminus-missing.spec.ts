/** @jest-environment ./test/support/own-environment.mjs */

// The indicator is for terminus, which an app need not have: its boot says so.
import { expect, it, jest } from '@jest/globals';

jest.unstable_mockModule('@nestjs/terminus', () => {
  throw Object.assign(new Error("Cannot find package '@nestjs/terminus' imported from here"), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
});
const { JobQueueHealthIndicator } = await import('nest-job-queue/health');
const { startApp } = await import('../nest/app.js');

it('an app with the indicator but without terminus does not boot, and names the package', async () => {
  await expect(startApp({ providers: [JobQueueHealthIndicator] })).rejects.toMatchObject({
    name: 'InvalidOptionError',
    message:
      'JobQueueHealthIndicator: expected the package @nestjs/terminus, whose health checks it is part of, found none. Run: npm install @nestjs/terminus',
  });
});
