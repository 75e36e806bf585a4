import 'reflect-metadata';
export { JobQueue, type ClaimOptions } from './queue/job-queue.js';
export { JobHandle, type ResultOptions } from './queue/job-handle.js';
export type { CleanableStatus, CleanOptions } from './queue/clean.js';
export { awaitAll, type ResultsOf } from './queue/await-all.js';
export { DeadLetters, type DeadLetterFilter, type DeadLetterPage } from './queue/dead-letters.js';
export {
  JobDefinition,
  defineJob,
  type JobDefaults,
  type JobDefinitionOptions,
  type PayloadInput,
  type PayloadOf,
  type ResultInput,
  type ResultOf,
} from './queue/define-job.js';
export type { StandardSchema } from './queue/standard-schema.js';
export type { TypedEnqueueOptions } from './queue/typed-job.js';
export type { EnqueueOptions, UniqueOptions } from './queue/new-job.js';
export type { Recurrence } from './queue/recurrence.js';
export type { ScheduleOptions, ScheduleRecord, TypedScheduleOptions } from './queue/schedule.js';
export type { Schedules, TickReport } from './queue/schedules.js';
export type { DoctorFinding, DoctorKind, DoctorOptions, DoctorReport } from './queue/doctor-report.js';
export { DurabilityTimeoutError } from './queue/durable-enqueuer.js';
export type { Durability, QueueOptions } from './queue/options.js';
export type { Backoff, StoredBackoff } from './queue/backoff.js';
export type { JobEvent } from './queue/event-subscriber.js';
export type { JobQueueLogger } from './queue/logger.js';
export type { RedisClient } from './queue/redis-client.js';
export { RedisAuditError, type ServerFinding } from './queue/server-audit.js';
export type {
  AttemptRecord,
  ClaimedJob,
  ClaimRef,
  JobRecord,
  JobStatus,
  LogLine,
  QueueStats,
  StoredError,
} from './queue/job.js';
export {
  ClaimLostError,
  EnqueueError,
  type EnqueueItem,
  InvalidOptionError,
  InvalidPayloadError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  JobQueueError,
  JobTimeoutError,
  NonRetryableError,
  RedisOutOfMemoryError,
  RedisUnsuitableError,
  RetryLaterError,
  ScheduleNotFoundError,
} from './queue/errors.js';
export { RedisPermissionError } from './queue/permission-error.js';
export { Worker } from './worker/worker.js';
export type { WorkerOptions, WorkerQueue } from './worker/worker-options.js';
export type { DeclaredSchedule } from './worker/recurring.js';
export { Job } from './worker/job.js';
export type { StuckJob } from './worker/stuck.js';
export { defineHandler, type TypedHandlerFunction } from './worker/define-handler.js';
export type { Handler, HandlerFunction, HandlerOptions } from './worker/handler.js';
export type { WorkerEvent, WorkerEventListener } from './worker/worker-event.js';
export {
  HandlerTimeoutError,
  ShutdownError,
  ThreadCrashedError,
  ThreadTerminatedError,
} from './worker/worker-errors.js';
export type { ThreadJob } from './worker/thread-job.js';
export { JobQueueModule, type JobQueueModuleAsyncOptions, type JobQueueModuleExtras } from './job-queue.module.js';
export type {
  JobQueueModuleOptions,
  JobQueueOptionsFactory,
  QueueSettings,
  ReclaimSchedule,
} from './nest/job-queue.options.js';
export { JobHandler, type JobHandlerOptions } from './nest/job-handler.decorator.js';
export type { ThreadOptions } from './nest/thread-option.js';
export { RecurringJob, type RecurringJobOptions } from './nest/recurring-job.decorator.js';
export type { JobSchedules, UpsertScheduleOptions } from './nest/job-schedules.js';
export { OnJobEvent, type JobEventType, type OnJobEventOptions } from './nest/on-job-event.decorator.js';
export { JobEvents, type FleetJobEvent, type JobEventFilter, type JobEventStatus } from './nest/job-events.js';
export { InjectQueue, getQueueToken } from './nest/inject-queue.decorator.js';
export { JobQueueService, type EnqueueJobOptions } from './nest/job-queue.service.js';
export { RECLAIM_CRON_JOB } from './nest/reclaim.scheduler.js';
export { JobQueueHealthIndicator } from './health/job-queue.health.js';
export type {
  JobQueueHealthOptions,
  JobQueueHealthReport,
  QueueHealth,
  WorkerHealth,
} from './health/health-report.js';
export { runWorkers } from './processes/run-workers.js';
export { WorkerBootError } from './processes/boot-error.js';
export type { RunWorkersOptions } from './processes/options.js';
export type { WorkerProcesses, WorkerProcessStatus, WorkersEnd } from './processes/worker-processes.js';
export type { WorkerProcessState } from './processes/worker-process.js';
export type { WorkerProcessEnded, WorkerProcessEvent } from './processes/process-event.js';
