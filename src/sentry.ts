// Entry point `nest-job-queue/sentry`: errors and spans of jobs in Sentry. The app passes its SDK, so nothing of it is imported.
export {
  type JobSentryMiddleware,
  type JobSentryOptions,
  type SentryScope,
  type SentrySdk,
  type SentrySpan,
  type SentrySpanOptions,
  sentryJobs,
} from './sentry/job-sentry.js';
