// Entry point `nest-job-queue/metrics`: figures for Prometheus and OpenTelemetry, of which a user needs only one.
export { JobMetrics, type JobMetricsOptions } from './metrics/job-metrics.js';
export {
  JobQueueMetricsModule,
  type JobQueueMetricsOptions,
  type MetricsModule,
  type MetricsProvider,
} from './metrics/job-queue-metrics.module.js';
export type { MeasuredQueue } from './metrics/fleet-reader.js';
export type { PrometheusClient, PrometheusMetric, PrometheusRegistry } from './metrics/prometheus.js';
export type { InstrumentOptions, Meter, ObservableInstrument, ObservableResult } from './metrics/open-telemetry.js';
export type { QueueScaling } from './metrics/job-metrics.js';
export type { Labels } from './metrics/instruments.js';
export type { QueueStats } from './queue/model/job.js';
export type { WorkerTrip } from './worker/fetch/fetch-loop.js';
export type { WorkerEvent } from './worker/handlers/attempt-middleware.js';
