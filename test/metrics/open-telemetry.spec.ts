import { expect, it } from '@jest/globals';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { JobMetrics } from 'nest-job-queue/metrics';
import { DURATION_BUCKETS, INSTRUMENT_LIST, INSTRUMENTS } from '#metrics/instruments.js';
import { eventually } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';

const TYPES = { counter: DataPointType.SUM, gauge: DataPointType.GAUGE, histogram: DataPointType.HISTOGRAM };
const OUTBOX_SIGNS = async () => ({ waiting: 2, setAside: 0, failed: 0, oldestAgeMs: 5_000 });

async function* streaming() {
  yield 'a';
}

it('gives the same instruments to OpenTelemetry', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const queue = newQueue({ limits: ['openai', { limit: 'crm', key: 'group' }] });
  const { name } = queue;
  const outbox = () => ({ signs: OUTBOX_SIGNS, relayed: new Map([[name, 3]]) });
  const metrics = new JobMetrics({ queues: [queue] }, outbox).toOpenTelemetry(provider.getMeter('nest-job-queue'));
  await startWorker([{ queue, handlers: { [name]: streaming } }], undefined, {
    onEvent: metrics.observe,
    onTrip: metrics.observeTrip,
    sweepIntervalMs: 50,
    limits: { openai: { maxRunning: 5 }, crm: { maxRunning: 5 } },
  });
  await (await queue.enqueue({}, { group: 'acme' })).result();

  let found = new Map<string, MetricData>();
  const point = (key: keyof typeof INSTRUMENTS) => found.get(INSTRUMENTS[key].name)?.dataPoints[0];
  await eventually(async () => {
    exporter.reset();
    await provider.forceFlush();
    const exported = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics[0]!.metrics);
    found = new Map(exported.map((metric) => [metric.descriptor.name, metric]));
    return point('run') !== undefined && point('limitKeys') !== undefined && point('maintenance') !== undefined;
  });
  const readable = INSTRUMENT_LIST.map(([, { name: each }]) => each);
  expect([...found.keys()].toSorted()).toEqual(readable.toSorted());
  for (const [key, { name: each, kind, help, unit = '', labels }] of INSTRUMENT_LIST) {
    const metric = found.get(each);
    if (metric) {
      expect(metric.descriptor).toMatchObject({ name: each, description: help, unit });
      // What runs in each process is summed, so it goes up and down.
      expect(metric.dataPointType).toBe(key === 'running' ? DataPointType.SUM : TYPES[kind]);
      expect({ key, labels: Object.keys(point(key)!.attributes).toSorted() }).toEqual({
        key,
        labels: labels.toSorted(),
      });
    }
  }
  expect(point('limitMost')).toMatchObject({ value: 5, attributes: { limit: 'openai' } });
  expect(point('slots')?.value).toBe(10);
  expect(point('streamBytes')?.value).toBe('"a"'.length);
  expect(point('outboxAge')?.value).toBe(5);
  expect(point('attempts')).toMatchObject({ value: 1, attributes: { queue: name, name, outcome: 'completed' } });
  expect(point('run')?.value).toMatchObject({ count: 1, buckets: { boundaries: [...DURATION_BUCKETS] } });
  expect(point('workers')).toMatchObject({ value: 1, attributes: { queue: name } });
  expect(found.get('job_queue.wait.duration')?.descriptor).toMatchObject({ unit: 's' });
  await provider.shutdown();
});
