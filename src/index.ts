import 'reflect-metadata';
export { JobQueue, type ClaimOptions } from './queue/job-queue.js';
export { JobHandle, type ResultOptions } from './queue/results/job-handle.js';
export type { CleanableStatus, CleanOptions } from './queue/operate/clean.js';
export { awaitAll, type ResultsOf } from './queue/results/await-all.js';
export { DeadLetters, type DeadLetterFilter, type DeadLetterPage } from './queue/dead-letters/dead-letters.js';
export {
  JobDefinition,
  defineJob,
  type JobDefaults,
  type JobDefinitionOptions,
  type PayloadInput,
  type PayloadOf,
  type ResultInput,
  type ResultOf,
} from './queue/enqueue/define-job.js';
export type { StandardSchema } from './queue/model/standard-schema.js';
export type { TypedEnqueueOptions } from './queue/enqueue/encode-typed-job.js';
export type { EnqueueOptions, UniqueOptions } from './queue/enqueue/encode-job.js';
export type { Recurrence } from './queue/schedules/recurrence.js';
export type { ScheduleOptions, ScheduleRecord, TypedScheduleOptions } from './queue/schedules/schedule.js';
export type { Schedules, TickReport } from './queue/schedules/schedules.js';
export type { DoctorFinding, DoctorKind, DoctorOptions, DoctorReport } from './queue/doctor/doctor-report.js';
export { DurabilityTimeoutError } from './queue/enqueue/durable-batcher.js';
export type { Durability, QueueOptions } from './queue/model/queue-options.js';
export type { Backoff, StoredBackoff } from './queue/model/backoff.js';
export type { JobEvent } from './queue/redis/event-subscriber.js';
export type { JobQueueLogger } from './queue/model/logger.js';
export type { LogLevel } from './queue/model/safe-logger.js';
export type { RedisClient } from './queue/redis/redis-client.js';
export { RedisAuditError, type ServerFinding } from './queue/doctor/server-audit.js';
export type {
  AttemptRecord,
  ClaimedJob,
  ClaimRef,
  JobRecord,
  JobStatus,
  LogLine,
  QueueStats,
  StoredError,
} from './queue/model/job.js';
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
  QueueClosedError,
  RedisOutOfMemoryError,
  RedisUnsuitableError,
  RetryLaterError,
  ScheduleNotFoundError,
} from './queue/model/errors.js';
export { RedisPermissionError } from './queue/redis/permission-error.js';
export { Worker } from './worker/worker.js';
export type { WorkerOptions, WorkerQueue } from './worker/worker-options.js';
export type { DeclaredSchedule } from './worker/maintenance/worker-schedules.js';
export { Job } from './worker/handlers/job.js';
export type { FailureLogging } from './worker/attempt/failure-log.js';
export type { StuckJob } from './worker/attempt/stuck-watch.js';
export { defineHandler, type TypedHandlerFunction } from './worker/handlers/define-handler.js';
export type { Handler, HandlerFunction, HandlerOptions } from './worker/handlers/handler.js';
export type { WorkerEvent, WorkerEventListener } from './worker/attempt/worker-event.js';
export {
  HandlerTimeoutError,
  ShutdownError,
  ThreadCrashedError,
  ThreadTerminatedError,
} from './worker/attempt/worker-errors.js';
export type { ThreadJob } from './worker/threads/thread-job.js';
export { JobQueueModule, type JobQueueModuleAsyncOptions, type JobQueueModuleExtras } from './job-queue.module.js';
export type {
  JobQueueModuleOptions,
  JobQueueOptionsFactory,
  QueueSettings,
  ReclaimSchedule,
} from './nest/options/job-queue.options.js';
export { JobHandler, type JobHandlerOptions } from './nest/handlers/job-handler.decorator.js';
export type { ThreadOptions } from './nest/handlers/thread-option.js';
export { RecurringJob, type RecurringJobOptions } from './nest/handlers/recurring-job.decorator.js';
export type { JobSchedules, UpsertScheduleOptions } from './nest/service/job-schedules.js';
export { OnJobEvent, type JobEventType, type OnJobEventOptions } from './nest/handlers/on-job-event.decorator.js';
export {
  JobEvents,
  type FleetJobEvent,
  type JobEventFilter,
  type JobEventStatus,
} from './nest/service/job-events.js';
export { InjectQueue, getQueueToken } from './nest/connection/inject-queue.decorator.js';
export { JobQueueService, type EnqueueJobOptions } from './nest/service/job-queue.service.js';
export { RECLAIM_CRON_JOB } from './nest/lifecycle/reclaim.scheduler.js';
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
