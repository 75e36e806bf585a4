// Entry point `nest-job-queue/metrics`: figures for Prometheus and OpenTelemetry, of which each user needs only one.
export { JobMetrics, type JobMetricsOptions } from './metrics/job-metrics.js';
export type { MeasuredQueue } from './metrics/fleet-reader.js';
export type { PrometheusClient, PrometheusRegistry } from './metrics/prometheus.js';
export type { Meter } from './metrics/open-telemetry.js';
