// Entry point `nest-job-queue/testing/jest`: imported for its effect, it adds the matchers to the `expect` of Jest.
import { expect } from '@jest/globals';
import { jobQueueMatchers, type JobQueueMatchers } from './testing/matchers.js';

expect.extend(jobQueueMatchers);

declare module 'expect' {
  // oxlint-disable-next-line no-unused-vars -- a merged interface must have the parameters of Jest's
  interface Matchers<R extends void | Promise<void>, T = unknown> extends JobQueueMatchers<R> {}
}

declare global {
  /** The types of \@types/jest, for tests with the globals of Jest. */
  namespace jest {
    // oxlint-disable-next-line no-unused-vars -- a merged interface must have the parameters of @types/jest's
    interface Matchers<R, T = {}> extends JobQueueMatchers<R> {}
  }
}

export type { JobQueueMatchers };
