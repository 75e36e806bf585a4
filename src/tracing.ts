// Entry point `nest-job-queue/tracing`: traces of jobs, by @opentelemetry/api, which only this entry needs.
export { jobTracing, type JobTracingOptions } from './tracing/job-tracing.js';
