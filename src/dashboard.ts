// Entry point `nest-job-queue/dashboard`: a page to look at the queues and to steer them.
import 'reflect-metadata';
export { JobQueueDashboardModule, type JobQueueDashboardAsyncOptions } from './dashboard/dashboard.module.js';
/** @internal */
export { serveDashboard } from './dashboard/serve-dashboard.js';
export { LinkGuard } from './dashboard/security/access.guard.js';
export type {
  DashboardAction,
  DashboardMount,
  DashboardOptions,
  DashboardRequest,
  DashboardSubject,
} from './dashboard/dashboard-options.js';
export type { Redact, RedactedPart } from './queue/codec/redact.js';
