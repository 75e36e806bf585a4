import { z } from 'zod';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { WorkerTrip } from '../worker/fetch/fetch-loop.js';
import type { WorkerEvent } from '../worker/reports/worker-event.js';
import { FleetReader, type MeasuredQueue } from './fleet-reader.js';
import type { Labels, MetricSink } from './instruments.js';
import { type Meter, openTelemetrySink } from './open-telemetry.js';
import { type PrometheusClient, type PrometheusRegistry, prometheusSink } from './prometheus.js';

/** What is measured. */
export interface JobMetricsOptions {
  /**
   * The queues whose depth, age and counters are read from Redis at each scrape, or a function that lists them. Default:
   * none. They are the same in each process, so one process is enough; `max by (queue)` joins those of several.
   */
  queues?: readonly MeasuredQueue[] | (() => readonly MeasuredQueue[]);
  /**
   * The job names that may be labels. Default: those whose handlers were called in this process, at most 200. Any other
   * is counted as `other`, since a name may come from anybody.
   */
  names?: readonly string[];
}

/** A process with more names than these counts the rest as `other`. */
const MOST_NAMES = 200;

const optionsSchema = z.strictObject(
  {
    queues: z
      .custom<NonNullable<JobMetricsOptions['queues']>>(
        (value) => typeof value === 'function' || Array.isArray(value),
        'expected an array of queues, or a function that returns one',
      )
      .optional(),
    names: z
      .array(z.string({ error: 'expected text' }), { error: 'expected an array of job names' })
      .readonly()
      .optional(),
  },
  { error: 'expected an object with queues, names' },
);

/**
 * Measures jobs for Prometheus and OpenTelemetry. Costs nothing in Redis until somebody scrapes.
 *
 * @example
 * const metrics = new JobMetrics({ queues: [queue] }).toPrometheus(promClient);
 * new Worker([{ queue, handlers }], { onEvent: metrics.observe, onTrip: metrics.observeTrip });
 */
export class JobMetrics {
  private readonly sinks: MetricSink[] = [];
  private readonly fleet: FleetReader;
  private readonly names: Set<string>;
  private readonly fixedNames: boolean;
  /** When the handler of a running job was called. */
  private readonly startedAt = new Map<WorkerEvent['job'], number>();

  /** @throws InvalidOptionError */
  constructor(options: JobMetricsOptions = {}) {
    const { queues = [], names } = checkOptions('metrics', optionsSchema, options);
    this.fleet = new FleetReader(() => (typeof queues === 'function' ? queues() : queues));
    this.fixedNames = names !== undefined;
    this.names = new Set(names);
  }

  /**
   * Registers all instruments with prom-client.
   *
   * @param client the module: `import * as promClient from 'prom-client'`
   * @param registry default: that of the module
   */
  toPrometheus(client: PrometheusClient, registry: PrometheusRegistry = client.register): this {
    this.sinks.push(prometheusSink(client, registry, this.fleet));
    return this;
  }

  /**
   * Registers all instruments with a meter of OpenTelemetry.
   *
   * @example new JobMetrics({ queues: [queue] }).toOpenTelemetry(metrics.getMeter('nest-job-queue'));
   */
  toOpenTelemetry(meter: Meter): this {
    this.sinks.push(openTelemetrySink(meter, this.fleet));
    return this;
  }

  /** Counts an event of a worker. Bound: hand it over as `onEvent`, or call it from `@OnJobEvent`. */
  readonly observe = (event: WorkerEvent): void => {
    const { type, job } = event;
    if (type === 'started') {
      this.begin(job);
    } else if (type === 'stuck') {
      this.add('stuck', this.labelsOf(job));
    } else {
      this.end(job, type);
    }
  };

  /** Measures a round trip of a worker. Bound: hand it over as `onTrip`. */
  readonly observeTrip = ({ operation, durationMs }: WorkerTrip): void => {
    this.sinks.forEach((sink) => sink.record('operation', { operation }, durationMs / 1_000));
  };

  private begin(job: WorkerEvent['job']): void {
    if (!this.fixedNames && this.names.size < MOST_NAMES) {
      this.names.add(job.name);
    }
    this.startedAt.set(job, performance.now());
    this.add('running', { queue: job.queue });
    const readyAt = job.readyAt.getTime();
    if (job.attempt === 1 && readyAt > 0) {
      const waitedMs = Math.max(0, job.claimedAt.getTime() - readyAt);
      this.record('wait', this.labelsOf(job), waitedMs / 1_000);
    }
  }

  private end(job: WorkerEvent['job'], outcome: string): void {
    const labels = { ...this.labelsOf(job), outcome };
    this.add('attempts', labels);
    const startedAt = this.startedAt.get(job);
    if (startedAt !== undefined) {
      this.startedAt.delete(job);
      this.add('running', { queue: job.queue }, -1);
      this.record('run', labels, (performance.now() - startedAt) / 1_000);
    }
  }

  private labelsOf({ queue, name }: WorkerEvent['job']): Labels {
    return { queue, name: this.names.has(name) ? name : 'other' };
  }

  private add(key: 'attempts' | 'stuck' | 'running', labels: Labels, value = 1): void {
    this.sinks.forEach((sink) => sink.add(key, labels, value));
  }

  private record(key: 'wait' | 'run', labels: Labels, seconds: number): void {
    this.sinks.forEach((sink) => sink.record(key, labels, seconds));
  }
}
