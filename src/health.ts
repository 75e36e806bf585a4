// Entry point `nest-job-queue/health`: the indicator for @nestjs/terminus, which only this entry needs.
export { JobQueueHealthIndicator } from './health/job-queue.health.js';
export type {
  JobQueueHealthOptions,
  JobQueueHealthReport,
  QueueHealth,
  UnreadableQueueHealth,
  WorkerHealth,
} from './health/health-report.js';
export type { QueueState, QueueVerdict, Severity } from './inspect/queue-signs.js';
export type { QueueStats } from './queue/model/job.js';
export type { OutboxVerdict } from './inspect/outbox-verdict.js';
export type { ServerVerdict } from './inspect/server-verdict.js';
