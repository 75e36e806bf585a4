import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';

/** The matchers as an expectation has them. */
export interface JobQueueMatchers<Result = unknown> {
  /**
   * Returns whether a job was enqueued: of a name, with a payload that has at least these fields, and with at least these options.
   *
   * @example expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
   */
  toHaveEnqueued(job: string | JobDefinition, payload?: unknown, options?: Partial<EnqueueOptions>): Result;
}
