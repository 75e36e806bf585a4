// Entry point `nest-job-queue/tracing`: traces of jobs, by @opentelemetry/api, which only this entry needs. It is
// imported at once, because spans begin in calls that cannot wait. A bundler must also find the app's one copy.
export { jobTracing, type JobTracingOptions } from './tracing/job-tracing.js';
