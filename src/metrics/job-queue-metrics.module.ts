import { z } from 'zod';
import {
  checkConnectionName,
  DEFAULT_CONNECTION,
  METRICS_REGISTRY,
  partToken,
} from '../nest/connection/connection-tokens.js';
import { loadPeer } from '../queue/errors/load-peer.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { MeasuredQueue, MeasuredOutbox } from './fleet-reader.js';
import { INSTRUMENT_LIST, prometheusName } from './instruments.js';
import { JobMetrics, type JobMetricsOptions } from './job-metrics.js';
import type { Meter } from './open-telemetry.js';
import type { PrometheusClient, PrometheusRegistry } from './prometheus.js';

/** The options of `JobQueueMetricsModule`. */
export interface JobQueueMetricsOptions extends Pick<JobMetricsOptions, 'names' | 'shards'> {
  /** The registry of prom-client that gets the metrics. @default that of the package prom-client */
  registry?: PrometheusRegistry | undefined;
  /** A meter of OpenTelemetry that gets the metrics in place of prom-client. */
  meter?: Meter | undefined;
  /**
   * The names of the connections whose queues and workers are measured. Their queues need different names.
   * @default that of the `forRoot` without a name
   */
  connections?: readonly string[] | undefined;
}

/** A dynamic module of Nest. Typed here, so that the types of this entry point need no Nest. */
export interface MetricsModule {
  /** The class of the module. */
  module: typeof JobQueueMetricsModule;
  /** True: Nest keeps one instance for the app. */
  global: boolean;
  /** The providers of the module. */
  providers: MetricsProvider[];
  /** The tokens that the app can inject. */
  exports: (symbol | typeof JobMetrics)[];
}

/** A provider of Nest with a factory. */
export interface MetricsProvider {
  /** The token. */
  provide: symbol | typeof JobMetrics;
  /** Makes the value. */
  useFactory: (...parts: never[]) => unknown;
  /** The tokens of the arguments. */
  inject: (string | symbol | typeof JobMetrics)[];
}

interface MeasuredQueues {
  all: readonly MeasuredQueue[];
  outbox: MeasuredOutbox | undefined;
}

/** The parts of connections that are measured: the queues of each, then its listeners. */
type AppParts = readonly (MeasuredQueues | { measure(meter: JobMetrics): void })[];

const isObject = (value: unknown) => typeof value === 'object' && value !== null;
const optionsSchema = z.strictObject(
  {
    names: z.custom<JobMetricsOptions['names']>().optional(), // JobMetrics checks them
    shards: z.custom<JobMetricsOptions['shards']>().optional(), // and this
    registry: z.custom<PrometheusRegistry>(isObject, 'expected a registry of prom-client').optional(),
    meter: z.custom<Meter>(isObject, 'expected a meter of OpenTelemetry').optional(),
    connections: z
      .array(z.string(), 'expected an array of names')
      .nonempty('expected a name')
      .default([DEFAULT_CONNECTION]),
  },
  { error: 'expected an object with registry, meter, names, shards, connections' },
);

/**
 * Measures all queues of an app and the workers of this process, for Prometheus or OpenTelemetry. Import it once, beside
 * `JobQueueModule.forRoot()`.
 *
 * @example
 * \@Module({ imports: [JobQueueModule.forRoot(), JobQueueMetricsModule.forRoot()] })
 * export class AppModule {}
 */
export class JobQueueMetricsModule {
  /**
   * Declares the module. `JobMetrics` can be injected.
   *
   * @throws InvalidOptionError that names the option. At boot, if prom-client is not installed
   */
  static forRoot(options: JobQueueMetricsOptions = {}): MetricsModule {
    const subject = 'JobQueueMetricsModule.forRoot';
    const { connections, meter, names, shards, registry } = checkOptions(subject, optionsSchema, options);
    connections.forEach((name) => checkConnectionName(`${subject}.connections`, name));
    return {
      module: JobQueueMetricsModule,
      global: true,
      providers: [
        {
          provide: METRICS_REGISTRY,
          useFactory: async () => (meter ? undefined : (registry ?? (await loadPrometheus()).register)),
          inject: [],
        },
        {
          provide: JobMetrics,
          useFactory: (target: PrometheusRegistry | undefined, ...parts: AppParts) => {
            const metrics = new AppMetrics(parts, { names, shards }, target);
            return meter ? metrics.toOpenTelemetry(meter) : metrics;
          },
          inject: [
            METRICS_REGISTRY,
            ...connections.flatMap((name) => [partToken('queues', name), partToken('listeners', name)]),
          ],
        },
      ],
      exports: [METRICS_REGISTRY, JobMetrics],
    };
  }
}

function loadPrometheus(): Promise<PrometheusClient> {
  const use = 'or a meter of OpenTelemetry (`meter`)';
  return loadPeer('prom-client', 'JobQueueMetricsModule', use, () => import('prom-client'));
}

/** The metrics of an app. They leave the registry with it, so that a process may boot one app after another. */
class AppMetrics extends JobMetrics {
  constructor(
    parts: AppParts,
    { names, shards }: JobMetricsOptions,
    private readonly registry: PrometheusRegistry | undefined,
  ) {
    const registries = parts.filter((part) => 'all' in part);
    super({ queues: () => registries.flatMap(({ all }) => all), names, shards }, () =>
      registries.map(({ outbox }) => outbox).find((outbox) => outbox?.signs),
    );
    parts.forEach((part) => 'measure' in part && part.measure(this));
    if (registry) {
      this.toPrometheus({ register: registry });
    }
  }

  /** Removes the metrics, called by Nest. */
  onApplicationShutdown(): void {
    INSTRUMENT_LIST.forEach(([, instrument]) => this.registry?.removeSingleMetric(prometheusName(instrument)));
  }
}
