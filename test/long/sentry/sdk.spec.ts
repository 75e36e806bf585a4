// Errors and spans of jobs in the real SDK of Sentry, two majors, with a transport of the test.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { fetchPackages } from '../../support/databases/fetched-packages.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('program.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Item {
  transaction?: string;
  exception?: { values: { value: string }[] };
  tags?: Record<string, unknown>;
  fingerprint?: string[];
  contexts?: {
    trace?: { trace_id?: string; op?: string; data?: Record<string, unknown> };
    job?: Record<string, unknown>;
  };
  spans?: { op?: string; trace_id: string; data: Record<string, unknown> }[];
}

describe.each(['9.47.2', '10.78.0'])('@sentry/node %s', (version) => {
  it('gets the last failure, and the spans of one trace', async () => {
    const { folder } = await fetchPackages(`sentry-${version}`, [`@sentry/node@${version}`]);
    const server = await startOwnRedis();
    const args = ['--import', './tools/chaos/register.mjs', program, folder, server.url];
    const { stdout } = await run(process.execPath, args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
    const items = JSON.parse(stdout) as Item[];

    const errors = items.filter(({ exception }) => exception);
    expect(errors).toHaveLength(1);
    const [error] = errors;
    expect(error!.exception!.values.map(({ value }) => value)).toEqual(['connection refused', 'smtp is down']);
    expect(error!.tags).toMatchObject({ queue: 'mail', 'job.id': 'b', 'job.attempt': 2, tenant: 'b' });
    expect(error!.fingerprint).toEqual(['mail', 'mail', expect.any(String)]);
    expect(error!.contexts!.job).toMatchObject({ id: 'b', attempt: 2 });

    const request = items.find(({ transaction }) => transaction === 'POST /orders')!;
    const published = request.spans!.filter(({ op }) => op === 'queue.publish');
    expect(published.map(({ data }) => data['messaging.message.id'])).toEqual(['a', 'b']);
    const runs = items.filter(({ contexts }) => contexts?.trace?.op === 'queue.process');
    expect(runs).toHaveLength(3);
    for (const { contexts } of runs) {
      expect(contexts!.trace!.trace_id).toBe(request.contexts!.trace!.trace_id);
      expect(contexts!.trace!.data).toMatchObject({
        'messaging.destination.name': 'mail',
        'messaging.message.id': expect.stringMatching(/^[ab]$/),
        'messaging.message.body.size': 16,
        'messaging.message.retry.count': expect.any(Number),
        'messaging.message.receive.latency': expect.any(Number),
      });
    }
  }, 300_000);
});
