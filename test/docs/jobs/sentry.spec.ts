// docs/sentry.md: a dead letter without an error of code is reported by its own job.
import type { Type } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { eventually } from '../../support/faults/wait.js';
import { loadExample } from '../example.js';
import { failing, service, stateOf } from './jobs-setup.js';

it('a job that expired reaches Sentry, and a job whose code threw is left to the middleware', async () => {
  const captured: string[] = [];
  const captureMessage = (text: string, { tags }: { tags: Record<string, string> }) =>
    void captured.push(`${tags['job.id']}: ${text}`);
  Object.assign(globalThis, { sentryOfTest: { captureMessage } });
  const { LostCharges } = await loadExample<{ LostCharges: Type }>('sentry.md', 'sentry-no-code', (code) =>
    code.replace("import * as Sentry from '@sentry/nestjs';", 'const Sentry = globalThis.sentryOfTest;'),
  );
  const jobs = await service(failing('charge'), LostCharges);
  await jobs.pause('charge');
  await jobs.enqueue('charge', { reason: 'no card' }, { id: 'threw' });
  await jobs.enqueue('charge', { reason: 'never runs' }, { id: 'expired', expiresInMs: 60_000 });
  const { redis, keys } = stateOf('charge');
  await redis.hset(keys.job('expired'), 'expires_at_ms', 1);
  await jobs.resume('charge');
  await eventually(async () => (await jobs.queue('charge').stats()).totals.completed! >= 2); // both reports ran
  expect(captured).toEqual([expect.stringMatching(/^expired: /)]);
});
