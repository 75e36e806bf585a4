/** Injection tokens; registered symbols, so that an ES module and a CommonJS copy share them. */
export const DASHBOARD_RAW_OPTIONS = Symbol.for('nest-job-queue:dashboard-raw-options');
export const DASHBOARD_OPTIONS = Symbol.for('nest-job-queue:dashboard-options');
export const DASHBOARD_MOUNT = Symbol.for('nest-job-queue:dashboard-mount');
