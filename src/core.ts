// Entry point `nest-job-queue/core`: the queue, its worker and its errors. Needs ioredis, and nothing of Nest.
export type { ClaimOptions } from './queue/consume/manual-consumer.js';
export { JobQueue, type DefinitionOf, type EnqueueRest } from './queue/job-queue.js';
export type { JobAdmin } from './queue/job-admin.js';
export type { QueueAdmin } from './queue/queue-admin.js';
export type { ListOptions } from './queue/operate/find-jobs.js';
export type { Start } from './queue/operate/reschedule-options.js';
export { redisAccess, redisClientOf, type QueueKeyNames, type RedisAccess } from './queue/redis-access.js';
export { JobHandle, type ResultOptions } from './queue/results/job-handle.js';
export type { ReadStreamOptions } from './queue/results/stream-options.js';
export type {
  StreamAttempt,
  StreamChunk,
  StreamItem,
  StreamOptions,
  StreamResult,
  StreamTruncation,
} from './queue/model/job-stream.js';
export type {
  InputOf,
  OutputOf,
  SchemaIssue,
  SchemaOutcome,
  StandardSchema,
} from './queue/validation/validate-with-schema.js';
export type { StreamWriter } from './worker/handlers/job.js';
export type { CleanableStatus, CleanOptions } from './queue/operate/clean.js';
export type { PurgeOptions } from './queue/operate/purge.js';
export { Batch, type BatchJobOptions } from './queue/batches/batch.js';
export { BatchReader, type BatchProgressOptions } from './queue/batches/batch-reader.js';
export type { BatchOptions, FollowUp, TypedFollowUp } from './queue/batches/batch-options.js';
export type {
  BatchFollowUp,
  BatchMember,
  BatchMemberStatus,
  BatchPage,
  BatchRecord,
  JobReference,
} from './queue/model/batch.js';
export { awaitAll, type ResultsOf } from './queue/results/awaited-results.js';
export type { RedriveAsNewReply } from './queue/store/job-queries.js';
export type { TypedEnqueueOptions } from './queue/enqueue/encode-job.js';
export { DurabilityTimeoutError } from './queue/enqueue/enqueue-batcher.js';
export {
  DeadLetters,
  type DeadLetterFilter,
  type RedriveOptions,
  type DeadLetterPage,
} from './queue/dead-letters/dead-letters.js';
export type { ErrorKind, KindMark } from './queue/dead-letters/error-kinds.js';
export {
  JobDefinition,
  defineJob,
  type ChunkFor,
  type ChunkInput,
  type JobDefaults,
  type JobDefinitionOptions,
  type PayloadFor,
  type PayloadInput,
  type PayloadOf,
  type ResultFor,
  type ResultInput,
  type ResultOf,
  type SignalData,
  type SignalInput,
  type SignalName,
  type SignalSchemas,
  type SignalsOf,
} from './queue/enqueue/define-job.js';
export type {
  EnqueueFields,
  EnqueueOptions,
  JobRules,
  StartTime,
  UniqueOptions,
} from './queue/enqueue/enqueue-options.js';
export type {
  EnqueueMiddleware,
  EnqueueRequest,
  JobQueueOptions,
  RequestedJob,
} from './queue/enqueue/enqueue-middleware.js';
export type { Recurrence, RecurrenceBounds } from './queue/model/schedule.js';
export type { ScheduleOptions, TypedScheduleOptions } from './queue/schedules/schedule.js';
export type { ScheduledJobOptions, ScheduleRecord, ScheduleRun } from './queue/model/schedule.js';
export type { Schedules, TickReport } from './queue/schedules/schedules.js';
export type { DoctorFinding, DoctorKind, DoctorOptions, DoctorReport } from './queue/model/doctor-report.js';
export type { ActionFilter, ActionLog } from './queue/actions/action-log.js';
export type { ActionAuthor, ActionEntry, ActionTarget } from './queue/store/action-entry.js';
export type { AuditTrail } from './queue/operate/audit-trail.js';
export type { AuditEntry, JobOutcome } from './queue/model/job-event.js';
export type { History } from './queue/operate/history.js';
export type {
  HistoryCounts,
  HistoryMark,
  WorkerDeath,
  HistoryPoint,
  HistoryQuantiles,
  HistoryReport,
} from './queue/model/history.js';
export type { GroupListOptions, Groups } from './queue/operate/groups.js';
export type { GroupStats } from './queue/model/group.js';
export type { PauseOptions, ResumeOptions } from './queue/model/pause.js';
export type { Limits } from './queue/operate/limits.js';
export type { SharedLimit } from './queue/operate/shared-limit.js';
export { type SubscribeOptions, TopicClient, type TopicClientOptions } from './worker/topics.js';
export type { Publication, PublishFields, PublishOptions } from './worker/topics.js';
export {
  defineTopic,
  type TopicDefinition,
  type TopicDefinitionOptions,
  type TopicInput,
  type TopicPayload,
} from './queue/enqueue/define-topic.js';
export type { TopicSubscription } from './queue/model/topic.js';
export type { ListedSubscription, Topics } from './queue/operate/topics.js';
export type {
  PermitHolder,
  SharedLimitChanges,
  SharedLimitState,
  WaitingKeys,
  CostRange,
  SharedLimitUse,
  SharedLimitValues,
} from './queue/model/shared-limit.js';
export type { SlotRange } from './queue/model/slots.js';
export type { LimitsInForce } from './queue/model/limits.js';
export type {
  CancelOutcome,
  ExtendOutcome,
  FailOutcome,
  ReleaseOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from './queue/store/call-outcomes.js';
export type { JobStep, LogLine } from './queue/model/step.js';
export type { ProfileKind, ProfileOptions, ProfileRecord } from './queue/model/profile.js';
export { Profiles } from './queue/operate/profiles.js';
export type { JobSignal, JobWait, SignalOutcome, WaitState } from './queue/model/signal.js';
export type { WaitOptions } from './worker/handlers/job-waits.js';
export { InvalidStepError, type StepContext } from './worker/handlers/job-steps.js';
export type { TransactionHandle } from './queue/store/outbox-writer.js';
export type { Durability } from './queue/model/job-options.js';
export type { EventExtras, QueueOptions } from './queue/model/queue-options.js';
export type {
  GroupLimits,
  GroupOverrides,
  GroupsOptions,
  QueueLimits,
  GroupChanges,
  LimitChanges,
  RuntimeLimits,
  RateLimit,
} from './queue/model/limits.js';
export { CodecError, type ContentContext, type JobCodec } from './queue/codec/codec.js';
export type { Redact, RedactedPart } from './queue/codec/redact.js';
export { encrypted, type EncryptionKey, type EncryptionOptions } from './queue/codec/encrypted.js';
export type { Backoff, BackoffJob, StoredBackoff } from './queue/model/backoff.js';
export type { JobFailure } from './queue/codec/failure-job.js';
export type { JobEvent } from './queue/model/job-event.js';
export type { JobMetadata } from './queue/model/metadata.js';
export type { JobQueueLogger } from './queue/runtime/logger.js';
export type { LogLevel } from './queue/errors/safe-logger.js';
export type { ForeignRedisClient, RedisClient } from './queue/redis/redis-client.js';
export { RedisAuditError, type ServerFinding } from './queue/doctor/server-audit.js';
export type {
  AttemptRecord,
  ClaimedJob,
  ClaimedJobOptions,
  ClaimRef,
  JobFilter,
  JobRecord,
  JobStatus,
  QueueStats,
  UnservedName,
} from './queue/model/job.js';
export type { StatusCondition } from './queue/store/job-ref.js';
export type { StuckJob, WorkerDetails, WorkerRecord } from './queue/model/worker-record.js';
export type { StoredError } from './queue/errors/stored-error.js';
export {
  ClaimLostError,
  InvalidOptionError,
  InvalidPayloadError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  JobQueueError,
  JobTimeoutError,
  NonRetryableError,
  QueueClosedError,
  RateLimitedError,
  RedisOutOfMemoryError,
  RedisStateError,
  RedisUnsuitableError,
  RetryLaterError,
  StreamCursorError,
  BatchNotFoundError,
  BatchSealedError,
  BatchTimeoutError,
  ProfileError,
  JobWaitsError,
  SignalRefusedError,
  SignalTimeoutError,
  type SignalRefusal,
  RateLimitRetriesExhaustedError,
  SnoozesExhaustedError,
  ScheduleNotFoundError,
  QueueLayoutError,
} from './queue/errors/errors.js';
export {
  EncryptedQueueError,
  EnqueueError,
  type EnqueueItem,
  QueueFullError,
  NoSubscriptionError,
  PublishError,
} from './queue/errors/enqueue-errors.js';
export { RedisKeyTypeError, type WrongKey, RedisPermissionError } from './queue/errors/redis-errors.js';
export { Worker } from './worker/worker.js';
export type { WorkerOptions, WorkerQueue } from './worker/worker-options.js';
export type { WorkerTrip } from './worker/fetch/fetch-loop.js';
export type { DeclaredSchedule } from './worker/handlers/handler.js';
export { Job } from './worker/handlers/job.js';
export type { FailureLogging } from './worker/reports/failure-log.js';
export type { AttemptMiddleware, JobQueueMiddleware } from './worker/handlers/attempt-middleware.js';
export { defineHandler, type TypedHandlerFunction } from './worker/handlers/define-handler.js';
export type { Handler, HandlerFunction, HandlerOptions } from './worker/handlers/handler.js';
export { defineBulkHandler, type TypedBulkFunction } from './worker/handlers/define-handler.js';
export type {
  BulkCall,
  BulkHandler,
  BulkHandlerFunction,
  BulkOptions,
  BulkOutcome,
  BulkOutcomes,
} from './worker/handlers/handler.js';
export type { WorkerEvent, WorkerEventListener } from './worker/handlers/attempt-middleware.js';
export {
  HandlerTimeoutError,
  ShutdownError,
  ThreadCrashedError,
  ThreadTerminatedError,
} from './worker/attempt/worker-errors.js';
export type { ThreadBatch, ThreadJob, ThreadMember } from './worker/threads/thread-run.js';
