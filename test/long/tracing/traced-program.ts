// A producer and a worker with a vendor's provider of OpenTelemetry, as docs/datadog.md says. Arguments: FOLDER of the packages, URL of
// Redis, URL of the collector. Without the last one the provider is dd-trace, which reads its own variables.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { jobTracing } from '../../../src/tracing.js';
import { startWatchedWorker } from '../../support/worker/watched-worker.js';

interface Provider {
  register(): void;
  forceFlush?(): Promise<void>;
}

interface Vendor {
  init(options: object): { TracerProvider: new () => Provider };
  OTLPTraceExporter: new (options: object) => object;
  BatchSpanProcessor: new (exporter: object) => object;
  NodeTracerProvider: new (options: object) => Provider;
}

const [folder, url, collector] = process.argv.slice(2) as [string, string, string?];
const vendor = (name: string) => createRequire(join(folder, 'package.json'))(name) as Vendor;

function datadog(): Provider {
  const { TracerProvider } = vendor('dd-trace').init({ plugins: false, flushInterval: 100, startupLogs: false });
  return new TracerProvider();
}

function newRelic(collectorUrl: string): Provider {
  const { OTLPTraceExporter } = vendor('@opentelemetry/exporter-trace-otlp-http');
  const { BatchSpanProcessor, NodeTracerProvider } = vendor('@opentelemetry/sdk-trace-node');
  const exporter = new OTLPTraceExporter({ url: `${collectorUrl}/v1/traces`, headers: { 'api-key': 'licence' } });
  return new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
}

const provider = collector === undefined ? datadog() : newRelic(collector);
provider.register();

const redis = new Redis(url, { maxRetriesPerRequest: null });
const middleware = [jobTracing({ mode: process.env['TRACING_MODE'] as 'link' | 'parent' })];
const queue = new JobQueue(redis, 'mail', { middleware, backoff: 0 });
const handle = ({ payload }: { payload: unknown }) => {
  if ((payload as { to: string }).to === 'nobody') throw new TypeError('smtp is down');
};
const { worker, untilEnded } = await startWatchedWorker(queue, handle, middleware);
await queue.enqueue({ to: 'a' }, { id: 'a' });
await queue.enqueue({ to: 'nobody' }, { id: 'b', maxAttempts: 2 });
await untilEnded(2);
await worker.stop();
redis.disconnect();
await provider.forceFlush?.();
if (collector === undefined) await new Promise((resolve) => setTimeout(resolve, 1_000)); // dd-trace sends each flushInterval
process.exit(0);
