import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';

/** The matchers as an expectation has them. */
export interface JobQueueMatchers<Result = unknown> {
  /**
   * Passes if a job of this name was enqueued. Its payload and its options must have at least the given fields.
   *
   * @example expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
   */
  toHaveEnqueued(job: string | JobDefinition, payload?: unknown, options?: Partial<EnqueueOptions>): Result;
}
