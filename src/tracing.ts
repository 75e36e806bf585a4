// Entry point `nest-job-queue/tracing`: traces of jobs, by @opentelemetry/api, which only this entry needs. It is imported
// at once, not at first use: spans begin in calls that cannot wait, and a bundler must find the app's one copy.
export { jobTracing, type JobTracingOptions } from './tracing/job-tracing.js';
