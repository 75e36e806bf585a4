import type { FleetReader } from './fleet-reader.js';
import {
  DURATION_BUCKETS,
  INSTRUMENT_LIST,
  type Instrument,
  type InstrumentKey,
  type Labels,
} from './instruments.js';
import {
  type CountKey,
  type DurationKey,
  isDurationKey,
  isCountKey,
  type ProcessFigures,
} from './process-figures.js';

// The used part of @opentelemetry/api, so that users of prom-client need not have its types.

/** The description of an instrument. */
export interface InstrumentOptions {
  /** The description, as in OpenTelemetry. */
  description: string;
  /** The unit, as in OpenTelemetry. */
  unit: string;
  /** The advice, as in OpenTelemetry. */
  advice?: { explicitBucketBoundaries: number[] };
}

/** Takes what an observation found. */
export interface ObservableResult {
  /** Records a value, as in OpenTelemetry. */
  observe(value: number, attributes: Labels): void;
}

/** An instrument that calls back for its value. */
export interface ObservableInstrument {
  /** Adds a callback, as in OpenTelemetry. */
  addCallback(callback: (result: ObservableResult) => void | Promise<void>): void;
}

/** The used part of an OpenTelemetry meter. */
export interface Meter {
  /** Creates a histogram, as in OpenTelemetry. */
  createHistogram(name: string, options: InstrumentOptions): { record(value: number, attributes: Labels): void };
  /** Creates an observable gauge, as in OpenTelemetry. */
  createObservableGauge(name: string, options: InstrumentOptions): ObservableInstrument;
  /** Creates an observable counter, as in OpenTelemetry. */
  createObservableCounter(name: string, options: InstrumentOptions): ObservableInstrument;
  /** Creates an observable up-down counter, as in OpenTelemetry. */
  createObservableUpDownCounter(name: string, options: InstrumentOptions): ObservableInstrument;
}

/**
 * Makes all instruments by a meter. A reader that collects reads the fleet's from Redis, and the counts of this process from its
 * figures. Durations go to the meter one by one, since a meter takes no buckets.
 */
export function createInstruments(meter: Meter, fleet: FleetReader, figures: ProcessFigures): void {
  for (const [key, instrument] of INSTRUMENT_LIST) {
    if (isDurationKey(key)) {
      recordDurations(meter, key, instrument, figures);
    } else if (isCountKey(key)) {
      observeCounts(meter, key, instrument, figures);
    } else {
      observeFleet(meter, key, instrument, fleet);
    }
  }
}

function describe(instrument: Instrument): InstrumentOptions {
  return { description: instrument.help, unit: instrument.unit ?? '' };
}

function recordDurations(meter: Meter, key: DurationKey, instrument: Instrument, figures: ProcessFigures): void {
  const advice = { explicitBucketBoundaries: [...DURATION_BUCKETS] };
  const histogram = meter.createHistogram(instrument.name, { ...describe(instrument), advice });
  figures.listen(key, (seconds, labels) => histogram.record(seconds, labels));
}

function observeCounts(meter: Meter, key: CountKey, instrument: Instrument, figures: ProcessFigures): void {
  const { name, kind } = instrument;
  const observable =
    kind === 'counter'
      ? meter.createObservableCounter(name, describe(instrument))
      : meter.createObservableUpDownCounter(name, describe(instrument));
  observable.addCallback((result) => {
    figures.countsOf(key).forEach(({ value, labels }) => result.observe(value, labels));
  });
}

function observeFleet(meter: Meter, key: InstrumentKey, instrument: Instrument, fleet: FleetReader): void {
  const description = describe(instrument);
  const observable =
    instrument.kind === 'counter'
      ? meter.createObservableCounter(instrument.name, description)
      : meter.createObservableGauge(instrument.name, description);
  observable.addCallback(async (result) => {
    for (const figure of await fleet.exported()) {
      if (figure.key === key) {
        result.observe(figure.value, figure.labels);
      }
    }
  });
}
