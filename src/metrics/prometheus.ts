import type { FleetReader } from './fleet-reader.js';
import {
  DURATION_BUCKETS,
  INSTRUMENT_LIST,
  type Instrument,
  type InstrumentKey,
  type Labels,
  type MetricSink,
  prometheusName,
} from './instruments.js';

// prom-client by its shape: nobody who measures by OpenTelemetry must have its types.

/** What a registry of prom-client is here. */
export interface PrometheusRegistry {
  metrics(): Promise<string>;
}

interface Config {
  name: string;
  help: string;
  labelNames: string[];
  registers: never[];
  collect?: () => Promise<void>;
}

interface Counter {
  inc(labels: Labels, value: number): void;
  reset(): void;
}

/** The module prom-client, as far as it is used. */
export interface PrometheusClient {
  Counter: new (config: Config) => Counter;
  Gauge: new (config: Config) => Counter & { set(labels: Labels, value: number): void };
  Histogram: new (config: Config & { buckets: number[] }) => {
    observe(labels: Labels, value: number): void;
  };
  register: PrometheusRegistry;
}

type Add = MetricSink['add'];

/** All instruments, registered; those of the fleet read Redis when the registry is scraped. */
export function prometheusSink(
  client: PrometheusClient,
  registry: PrometheusRegistry,
  fleet: FleetReader,
): MetricSink {
  const takers = new Map<InstrumentKey, (labels: Labels, value: number) => void>();
  for (const [key, instrument] of INSTRUMENT_LIST) {
    const config = configOf(instrument, registry);
    if (instrument.source === 'fleet') {
      collectFleet(client, key, instrument, config, fleet);
    } else if (instrument.kind === 'histogram') {
      const histogram = new client.Histogram({ ...config, buckets: [...DURATION_BUCKETS] });
      takers.set(key, (labels, value) => histogram.observe(labels, value));
    } else {
      const counter = instrument.kind === 'gauge' ? new client.Gauge(config) : new client.Counter(config);
      takers.set(key, (labels, value) => counter.inc(labels, value));
    }
  }
  const take: Add = (key, labels, value) => takers.get(key)?.(labels, value);
  return { add: take, record: take };
}

function configOf(instrument: Instrument, registry: PrometheusRegistry): Config {
  return {
    name: prometheusName(instrument),
    help: instrument.help,
    labelNames: [...instrument.labels],
    registers: [registry as never],
  };
}

function collectFleet(
  client: PrometheusClient,
  key: InstrumentKey,
  instrument: Instrument,
  config: Config,
  fleet: FleetReader,
): void {
  const Metric = instrument.kind === 'gauge' ? client.Gauge : client.Counter;
  const metric = new Metric({
    ...config,
    collect: async () => {
      const figures = await fleet.read();
      metric.reset(); // a queue that does not answer has no figures, and not its last ones
      figures.filter((figure) => figure.key === key).forEach(({ labels, value }) => metric.inc(labels, value));
    },
  });
}
