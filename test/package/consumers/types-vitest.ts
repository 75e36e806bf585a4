// The entry point whose types need Vitest, which itself asks for a newer TypeScript than 5.4.
import { JobQueueTesting } from 'nest-job-queue/testing';
import 'nest-job-queue/testing/vitest';
import { expect } from 'vitest';

export const inVitest = (queue: JobQueueTesting): void =>
  expect(queue).not.toHaveEnqueued('email', { to: 'ada@example.com' });
