// The matcher of Jest: what passes, and what a person reads where it fails.
import 'nest-job-queue/testing/jest';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, expect, it } from '@jest/globals';
import { defineJob, JobHandler, type JobQueueService } from 'nest-job-queue';
import type { JobQueueTesting } from 'nest-job-queue/testing';
import { z } from 'zod';
import { startTested } from '../module/app.js';

const Email = defineJob('email', { payload: z.object({ to: z.string(), subject: z.string().optional() }) });

@JobHandler('email')
class EmailHandler {
  handle() {}
}

let testing: JobQueueTesting;
let jobs: JobQueueService;

beforeEach(async () => {
  ({ testing, jobs } = await startTested({ providers: [EmailHandler] }));
});

/** Returns what a failing expectation says, without colours. */
function failureOf(expectation: () => void): string {
  try {
    expectation();
  } catch (error) {
    return stripVTControlCharacters((error as Error).message);
  }
  throw new Error('The expectation holds.');
}

it('finds a job by its name or definition, by a part of its payload and by its options', async () => {
  await jobs.enqueue(Email, { to: 'ada@example.com', subject: 'Hello' }, { delayMs: 5_000, priority: 2 });
  expect(testing).toHaveEnqueued('email');
  expect(testing).toHaveEnqueued(Email, { to: 'ada@example.com' });
  expect(testing).toHaveEnqueued('email', { to: expect.stringContaining('@') }, { delayMs: 5_000 });
  expect(testing).toHaveEnqueued('email', undefined, { priority: 2 });
  expect(testing).not.toHaveEnqueued('email', { to: 'bob@example.com' });
  expect(testing).not.toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 1 });
  for (const part of ['invoice', 'mail', 'e']) expect(testing).not.toHaveEnqueued(part);
});

it('shows how the closest job differs, and only where it was asked about', async () => {
  await jobs.enqueue('email', { to: 'eve@example.com', subject: 'Hello' }, { delayMs: 1_000 });
  await jobs.enqueue('email', { to: 'ada@example.com', subject: 'Hello' }, { delayMs: 1_000, priority: 4 });
  const { id } = testing.enqueued()[1]!;
  const said = failureOf(() =>
    expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 5_000 }),
  );
  expect(said)
    .toBe(`Expected a job "email" to be enqueued with payload and options. 2 were enqueued; the closest (${id}) differs:

- Expected
+ Received

  Object {
    "options": Object {
-     "delayMs": 5000,
+     "delayMs": 1000,
    },
    "payload": Object {
      "to": "ada@example.com",
    },
  }`);
});

it('shows the jobs that were enqueued instead, or should not have been', async () => {
  expect(failureOf(() => expect(testing).toHaveEnqueued('invoice'))).toBe(
    'Expected a job "invoice" to be enqueued. Nothing was enqueued.',
  );
  const { id } = await jobs.enqueue('email', { to: 'ada' });
  await jobs.enqueue('email', { to: 'bob' });
  expect(failureOf(() => expect(testing).toHaveEnqueued('invoice'))).toBe(
    'Expected a job "invoice" to be enqueued. Only these were: "email" ×2.',
  );
  expect(failureOf(() => expect(testing).not.toHaveEnqueued('email', { to: 'ada' }))).toBe(
    `Expected no such job "email", and 1 was enqueued:\n  ${id}: {"options": {}, "payload": {"to": "ada"}}`,
  );
  expect(() => expect(jobs).toHaveEnqueued('email')).toThrow('expected the JobQueueTesting of a module');
});
