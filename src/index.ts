// Entry point `nest-job-queue`: the Nest module, and all of the core.
import 'reflect-metadata';
export * from './core.js';
export type { MiddlewareEntry } from './nest/job-queue.options.js';
export { JobQueueModule, type JobQueueFeatureOptions } from './nest/job-queue.module.js';
export type { JobQueueModuleAsyncOptions, JobQueueModuleExtras } from './nest/job-queue-core.module.js';
export type { JobQueueModuleOptions, JobQueueOptionsFactory, QueueSettings } from './nest/job-queue.options.js';
export {
  JobHandler,
  type JobHandlerOptions,
  type QueueHandlerOptions,
} from './nest/handlers/job-handler.decorator.js';
export { OnTopic, type OnTopicOptions, type TypedTopicDecorator } from './nest/handlers/job-handler.decorator.js';
export { currentJob } from './nest/context/current-job.js';
export type { NewErrorKind, VerdictNotice } from './inspect/alerts.js';
export type { KindMark } from './queue/dead-letters/error-kinds.js';
export type { QueueVerdict, QueueState, Severity } from './inspect/queue-signs.js';
export type { MaintenanceSchedule } from './nest/job-queue.options.js';
export { getJob, JOB_CONTEXT } from './nest/handlers/job-params.decorator.js';
export { JobQueueErrorFilter } from './nest/job-queue-error.filter.js';
export { JobPayload, JobRef, type JobPayloadOptions, type Pipe } from './nest/handlers/job-params.decorator.js';
export type { EnhancerKind } from './nest/job-queue.options.js';
export type {
  JobHandlerOptionsFactory,
  DecoratorOptions,
  JobHandlerOptionsSource,
  MadeHandlerOptions,
  TypedBulkDecorator,
  TypedHandlerDecorator,
} from './nest/handlers/job-handler.decorator.js';
export type { ThreadOptions } from './nest/handlers/thread-option.js';
export { RecurringJob, type RecurringJobOptions } from './nest/handlers/job-handler.decorator.js';
export type { JobSchedules, PayloadOption, UpsertScheduleOptions } from './nest/service/job-schedules.js';
export {
  OnJobEvent,
  type JobEventType,
  type ListenerDecorator,
  type OnJobEventOptions,
} from './nest/handlers/job-listeners.js';
export type { SafeObservable } from './nest/service/job-events.js';
export { JobStream, type StreamMessage } from './nest/service/job-stream.js';
export { JobEvents, type FleetJobEvent, type JobEventFilter } from './nest/service/job-events.js';
export type { JobEventStatus } from './queue/model/job-event.js';
export type { DescribeJob } from './nest/context/current-job.js';
export {
  OnJobFailed,
  type FailureHandlerDecorator,
  type OnJobFailedOptions,
} from './nest/handlers/job-handler.decorator.js';
export {
  getJobQueueServiceToken,
  getQueueToken,
  InjectJobQueueService,
  InjectQueue,
} from './nest/connection/inject-queue.decorator.js';
export type { JobBatchOptions } from './spread/shard-choice.js';
export type { QueueChoice } from './nest/service/enqueue-call.js';
export type { Once, OnceJob, OnceOutcome } from './nest/service/once.js';
export type {
  AnyNameOptions,
  EnqueueJobFields,
  EnqueueJobOptions,
  EnqueueManyOptions,
  JobOfAnyName,
  JobsOfAnyName,
  OneOfManyOptions,
} from './nest/service/enqueue-call.js';
export { JobQueueService } from './nest/service/job-queue.service.js';
export { MAINTENANCE_CRON_JOB } from './nest/lifecycle/maintenance.scheduler.js';
