// The spans of our OpenTelemetry tracing as New Relic gets them by OTLP. A fake collector takes the place of theirs.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { fetchPackages } from '../../support/databases/fetched-packages.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('traced-program.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
// The last versions that run on Node 20.
const PACKAGES = [
  '@opentelemetry/exporter-trace-otlp-http@0.212.0',
  '@opentelemetry/sdk-trace-node@2.5.1',
  '@opentelemetry/api@1.9.1',
];
/** The numbers that OTLP has for these kinds of span. */
const [PRODUCER, CONSUMER] = [4, 5];

/** A span as JSON of OTLP. */
interface OtlpSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { stringValue?: string } }[];
  links?: { spanId: string }[];
  status: { code: number; message?: string };
}

interface OtlpBody {
  resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** Starts a collector that keeps the spans, and the keys that came with them. */
async function startCollector() {
  const spans: OtlpSpan[] = [];
  const keys = new Set<unknown>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as OtlpBody;
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      keys.add(request.headers['api-key']);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { spans, keys, url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

const textsOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));

it.each(['link', 'parent'] as const)(
  'New Relic gets an enqueue and its attempts, mode %s',
  async (mode) => {
    const { folder } = await fetchPackages('otlp-trace', PACKAGES);
    const collector = await startCollector();
    const { url } = await startOwnRedis();
    const args = ['--import', './tools/chaos/register.mjs', program, folder, url, collector.url];
    await run(process.execPath, args, { cwd: root, env: { ...process.env, TRACING_MODE: mode } });
    collector.close();

    const of = (id: string, operation: string) =>
      collector.spans.filter((span) => {
        const texts = textsOf(span);
        return texts['messaging.message.id'] === id && texts['messaging.operation.type'] === operation;
      });
    expect([...collector.keys]).toEqual(['licence']);
    for (const [id, attempts] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const [sent] = of(id, 'send');
      const runs = of(id, 'process');
      expect(sent).toMatchObject({ name: 'send mail', kind: PRODUCER });
      expect(textsOf(sent!)).toMatchObject({ 'messaging.destination.name': 'mail' });
      expect(runs).toHaveLength(attempts);
      for (const span of runs) {
        expect(span).toMatchObject({ name: 'process mail', kind: CONSUMER, status: { code: id === 'b' ? 2 : 0 } });
        expect(textsOf(span)).toMatchObject({ 'messaging.system': 'nest_job_queue' });
        const linked = (span.links ?? []).map(({ spanId }) => spanId);
        expect(mode === 'parent' ? [span.parentSpanId] : linked).toEqual([sent!.spanId]);
        expect(span.traceId === sent!.traceId).toBe(mode === 'parent');
      }
    }
    expect(textsOf(of('b', 'process')[0]!)).toMatchObject({ 'error.type': 'TypeError' });
    expect(of('b', 'process')[0]!.status.message).toBe('smtp is down');
  },
  300_000,
);
