// Entry point `nest-job-queue/testing`: queues in memory, by a clock that the test moves.
import 'reflect-metadata';
export { JobQueueTestingModule } from './testing/module/job-queue-testing.js';
export {
  JobQueueTesting,
  type DrainOptions,
  type JobQueueTestingOptions,
} from './testing/module/job-queue-testing.js';
export { TestingError } from './testing/module/test-clock.js';
export { runHandler, type RunHandlerOptions } from './testing/module/run-handler.js';
export { withRedis, type TestRedis } from './testing/with-redis.js';
export { jobQueueMatchers, type MatcherContext, type MatcherResult } from './testing/matchers.js';
export type { JobQueueMatchers } from './testing/matchers.js';
export type { DrainReport, HandlerFailure, TestedOutcome } from './testing/module/test-log.js';
export type { EnqueuedJob } from './testing/module/test-log.js';
