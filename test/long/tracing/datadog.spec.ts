// The spans of our OpenTelemetry tracing as Datadog's agent gets them from dd-trace. A fake agent takes the place of theirs.
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
const PACKAGES = ['dd-trace@5.132.0', '@opentelemetry/api@1.9.1', '@msgpack/msgpack@3.1.3'];

/** A span as the agent gets it. Its ids are large numbers. */
interface AgentSpan {
  name: string;
  resource: string;
  service: string;
  error: number;
  trace_id: bigint;
  span_id: bigint;
  parent_id: bigint;
  meta: Record<string, string>;
}

/** Starts an agent that keeps the spans. @param decode reads MessagePack */
async function startAgent(decode: (bytes: Uint8Array) => unknown) {
  const spans: AgentSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.endsWith('/traces')) spans.push(...(decode(Buffer.concat(chunks)) as AgentSpan[][]).flat());
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ rate_by_service: {} }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { spans, url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

it.each(['link', 'parent'] as const)(
  'Datadog gets an enqueue and its attempts, mode %s',
  async (mode) => {
    const { folder, require } = await fetchPackages('dd-trace-5', PACKAGES);
    const { decode } = require('@msgpack/msgpack') as { decode(bytes: Uint8Array, options: object): unknown };
    const agent = await startAgent((bytes) => decode(bytes, { useBigInt64: true }));
    const { url } = await startOwnRedis();
    const args = ['--import', './tools/chaos/register.mjs', program, folder, url];
    const env = { ...process.env, DD_TRACE_AGENT_URL: agent.url, DD_SERVICE: 'shop', TRACING_MODE: mode };
    await run(process.execPath, args, { cwd: root, env });
    agent.close();

    const of = (id: string, operation: string) =>
      agent.spans.filter(
        ({ meta }) => meta['messaging.message.id'] === id && meta['messaging.operation.type'] === operation,
      );
    for (const [id, attempts] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const [sent] = of(id, 'send');
      const runs = of(id, 'process');
      expect(sent).toMatchObject({ service: 'shop', resource: 'send mail', error: 0 });
      expect(sent!.meta).toMatchObject({ 'span.kind': 'producer', 'messaging.destination.name': 'mail' });
      expect(runs).toHaveLength(attempts);
      for (const span of runs) {
        expect(span).toMatchObject({ service: 'shop', resource: 'process mail', error: id === 'b' ? 1 : 0 });
        expect(span.meta).toMatchObject({ 'span.kind': 'consumer', 'messaging.system': 'nest_job_queue' });
        const links = JSON.parse(span.meta['_dd.span_links'] ?? '[]') as { span_id: string }[];
        const linked = links.map(({ span_id }) => BigInt(`0x${span_id}`));
        expect(mode === 'parent' ? [span.parent_id] : linked).toEqual([sent!.span_id]);
        expect(span.trace_id === sent!.trace_id).toBe(mode === 'parent');
      }
    }
    expect(of('b', 'process')[0]!.meta).toMatchObject({
      'error.type': 'TypeError',
      'error.message': 'smtp is down',
    });
  },
  300_000,
);
