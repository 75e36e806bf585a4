// The entry point for Vitest, in a file of its own for the projects that have Vitest. Compiled together with types.ts.
import { JobQueueTesting } from 'nest-job-queue/testing';
import 'nest-job-queue/testing/vitest';
import { expect } from 'vitest';

export const inVitest = (queue: JobQueueTesting): void =>
  expect(queue).not.toHaveEnqueued('email', { to: 'ada@example.com' });
