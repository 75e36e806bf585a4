import type { FleetReader } from './fleet-reader.js';
import {
  DURATION_BUCKETS,
  INSTRUMENT_LIST,
  type Instrument,
  type InstrumentKey,
  type Labels,
  type MetricSink,
} from './instruments.js';

// @opentelemetry/api by its shape: nobody who measures by prom-client must have its types.

interface Description {
  description: string;
  unit: string;
  advice?: { explicitBucketBoundaries: number[] };
}

interface ObservableResult {
  observe(value: number, attributes: Labels): void;
}

interface Observable {
  addCallback(callback: (result: ObservableResult) => Promise<void>): void;
}

/** A meter of OpenTelemetry, as far as it is used. */
export interface Meter {
  createCounter(name: string, options: Description): { add(value: number, attributes: Labels): void };
  createUpDownCounter(name: string, options: Description): { add(value: number, attributes: Labels): void };
  createHistogram(name: string, options: Description): { record(value: number, attributes: Labels): void };
  createObservableGauge(name: string, options: Description): Observable;
  createObservableCounter(name: string, options: Description): Observable;
}

/** All instruments, made by a meter; those of the fleet read Redis when a reader collects. */
export function openTelemetrySink(meter: Meter, fleet: FleetReader): MetricSink {
  const takers = new Map<InstrumentKey, (labels: Labels, value: number) => void>();
  for (const [key, instrument] of INSTRUMENT_LIST) {
    if (instrument.source === 'fleet') {
      observeFleet(meter, key, instrument, fleet);
    } else {
      takers.set(key, takerOf(meter, instrument));
    }
  }
  const take: MetricSink['add'] = (key, labels, value) => takers.get(key)?.(labels, value);
  return { add: take, record: take };
}

function describe(instrument: Instrument): Description {
  return { description: instrument.help, unit: instrument.unit ?? '' };
}

function takerOf(meter: Meter, instrument: Instrument): (labels: Labels, value: number) => void {
  const { name, kind } = instrument;
  const description = describe(instrument);
  if (kind === 'histogram') {
    const advice = { explicitBucketBoundaries: [...DURATION_BUCKETS] };
    const histogram = meter.createHistogram(name, { ...description, advice });
    return (labels, value) => histogram.record(value, labels);
  }
  const counter =
    kind === 'counter' ? meter.createCounter(name, description) : meter.createUpDownCounter(name, description);
  return (labels, value) => counter.add(value, labels);
}

function observeFleet(meter: Meter, key: InstrumentKey, instrument: Instrument, fleet: FleetReader): void {
  const description = describe(instrument);
  const observable =
    instrument.kind === 'counter'
      ? meter.createObservableCounter(instrument.name, description)
      : meter.createObservableGauge(instrument.name, description);
  observable.addCallback(async (result) => {
    for (const figure of await fleet.read()) {
      if (figure.key === key) {
        result.observe(figure.value, figure.labels);
      }
    }
  });
}
