// Entry point `nest-job-queue/testing/vitest`: imported for its effect, it adds the matchers to the `expect` of Vitest.
import { expect } from 'vitest';
import { jobQueueMatchers, type JobQueueMatchers } from './testing/matchers.js';

expect.extend(jobQueueMatchers as Parameters<typeof expect.extend>[0]);

declare module 'vitest' {
  // The result type is Jest's, so that both may be compiled together.
  // oxlint-disable-next-line no-unused-vars -- a merged interface must have the parameter of Vitest's
  interface Matchers<T> extends JobQueueMatchers<void> {}
}

export type { JobQueueMatchers };
