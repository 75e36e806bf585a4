import type { FleetReader } from './fleet-reader.js';
import {
  DURATION_BUCKETS,
  INSTRUMENT_LIST,
  type FleetFigure,
  type Instrument,
  type InstrumentKey,
  type Labels,
  prometheusName,
} from './instruments.js';
import { type Count, type Durations, isCountKey, isDurationKey, type ProcessFigures } from './process-figures.js';

// The used part of prom-client, so that users of OpenTelemetry need not have its types.

/** A metric as a registry of prom-client reads it. */
export interface PrometheusMetric {
  /** Returns the metric with its values. */
  get(): Promise<unknown>;
  /** Sets the values of this process back. */
  reset(): void;
}

/** The used part of prom-client's registry. */
export interface PrometheusRegistry {
  /** Returns the text that Prometheus scrapes. */
  metrics(): Promise<string>;
  /** Takes a metric. */
  registerMetric(metric: PrometheusMetric): void;
  /** Removes the metric of a name. */
  removeSingleMetric(name: string): void;
}

/** The used part of the module prom-client. */
export interface PrometheusClient {
  /** The default registry. */
  register: PrometheusRegistry;
}

/** One line of a scrape. */
interface Line {
  labels: Labels & { le?: string | number };
  value: number;
  metricName?: string;
}

/** Registers all instruments. A scrape reads the fleet's figures from Redis, and this process's from memory. */
export function registerInstruments(
  registry: PrometheusRegistry,
  fleet: FleetReader,
  figures: ProcessFigures,
): void {
  for (const [key, instrument] of INSTRUMENT_LIST) {
    registry.registerMetric(new ScrapedMetric(instrument, readerOf(key, instrument, fleet, figures)));
  }
}

/** Gives its lines when it is scraped, and holds none itself. */
class ScrapedMetric implements PrometheusMetric {
  readonly name: string;
  readonly help: string;
  readonly type: Instrument['kind'];
  /** The way in which prom-client joins the processes of a node:cluster. */
  readonly aggregator: 'sum' | 'max';

  constructor(
    instrument: Instrument,
    private readonly reader: { lines: () => Promise<Line[]>; reset?: () => void },
  ) {
    this.name = prometheusName(instrument);
    this.help = instrument.help;
    this.type = instrument.kind;
    this.aggregator = instrument.source === 'fleet' ? 'max' : 'sum';
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: await this.reader.lines() };
  }

  reset(): void {
    this.reader.reset?.();
  }
}

function readerOf(key: InstrumentKey, instrument: Instrument, fleet: FleetReader, figures: ProcessFigures) {
  if (isDurationKey(key)) {
    const durations = figures.durationsOf(key);
    return {
      lines: async () => durations.flatMap((each) => histogramLines(prometheusName(instrument), each)),
      reset: () => durations.forEach((each) => each.reset()),
    };
  }
  if (isCountKey(key)) {
    const counts = figures.countsOf(key);
    return {
      lines: async () => counts.map(lineOf),
      // A reset must not change the number of running handlers, because they end later.
      reset: () => (instrument.kind === 'counter' ? counts.forEach((each) => each.reset()) : undefined),
    };
  }
  return { lines: async () => (await fleet.exported()).filter((figure) => figure.key === key).map(lineOf) };
}

function lineOf({ labels, value }: Count | FleetFigure): Line {
  return { labels: { ...labels }, value };
}

/**
 * Returns the lines of a histogram. Each bucket counts its own and all shorter durations; then come the sum and the
 * count.
 */
function histogramLines(name: string, { labels, buckets, sum, count }: Durations): Line[] {
  let within = 0;
  const lines = DURATION_BUCKETS.map((bound, i): Line => ({
    labels: { le: bound, ...labels },
    value: (within += buckets[i]!),
    metricName: `${name}_bucket`,
  }));
  return [
    ...lines,
    { labels: { le: '+Inf', ...labels }, value: count, metricName: `${name}_bucket` },
    { labels: { ...labels }, value: sum, metricName: `${name}_sum` },
    { labels: { ...labels }, value: count, metricName: `${name}_count` },
  ];
}
