// Errors and spans of jobs in the real SDK of Sentry, two majors, with a transport of the test.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { fetchPackages } from '../../support/databases/fetched-packages.js';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

const run = promisify(execFile);
const program = fileURLToPath(new URL('program.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Item {
  transaction?: string;
  exception?: { values: { value: string }[] };
  tags?: Record<string, unknown>;
  fingerprint?: string[];
  contexts?: {
    trace?: { trace_id?: string; op?: string; status?: string; data?: Record<string, unknown> };
    job?: Record<string, unknown>;
  };
  monitor_slug?: string;
  check_in_id?: string;
  status?: string;
  spans?: { op?: string; trace_id: string; data: Record<string, unknown> }[];
}

describe.each(['9.47.2', '10.78.0'])('@sentry/node %s', (version) => {
  it('gets the last failure, and the spans of one trace', async () => {
    const { folder } = await fetchPackages(`sentry-${version}`, [`@sentry/node@${version}`]);
    const server = await startOwnRedis();
    const args = ['--import', './tools/chaos/register.mjs', program, folder, server.url];
    const { stdout } = await run(process.execPath, args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
    const items = JSON.parse(stdout) as Item[];

    const ofCrons = items.filter((item) => item.monitor_slug);
    const runs = [...new Set(ofCrons.map((item) => item.check_in_id))].map((id) => {
      const told = ofCrons.filter((item) => item.check_in_id === id);
      return told.map(({ monitor_slug: slug, status }) => `${slug} ${status}`);
    });
    expect(runs).toEqual([
      ['works in_progress', 'works ok'],
      ['is-cancelled in_progress', 'is-cancelled error'],
      ['is-late in_progress', 'is-late error'],
      ['fails in_progress', 'fails error'],
      ['fails in_progress', 'fails ok'],
    ]);
    const isDead = ({ tags }: Item) => tags?.queue === 'crons';
    expect(
      items
        .filter(({ exception, ...item }) => exception && isDead(item))
        .map(({ exception }) => exception!.values[0]!.value),
    ).toEqual([expect.stringContaining('ran longer than its timeoutMs'), 'no report']);

    const errors = items.filter(({ exception, ...item }) => exception && !isDead(item));
    const [error, ofStep, ...others] = errors;
    expect(others).toEqual([]);
    expect(error!.exception!.values.map(({ value }) => value)).toEqual(['connection refused', 'smtp is down']);
    expect(error!.tags).toMatchObject({ queue: 'mail', 'job.id': 'b', 'job.attempt': 2, tenant: 'b' });
    expect(error!.fingerprint).toEqual(['mail', 'mail', expect.any(String)]);
    expect(error!.contexts!.job).toMatchObject({ id: 'b', attempt: 2 });

    expect(ofStep!.exception!.values.map(({ value }) => value)).toEqual(['card refused']);
    expect(ofStep!.tags).toMatchObject({ 'job.id': 'c', tenant: 'c' });

    const request = items.find(({ transaction }) => transaction === 'POST /orders')!;
    const published = request.spans!.filter(({ op }) => op === 'queue.publish');
    expect(published.map(({ data }) => data['messaging.message.id'])).toEqual(['a', 'b']);
    const all = items.filter(({ contexts }) => contexts?.trace?.op === 'queue.process');
    const ofJob = (...ids: string[]) =>
      all.filter(({ contexts }) => ids.includes(String(contexts!.trace!.data!['messaging.message.id'])));
    expect(ofJob('c').map(({ contexts }) => contexts!.trace!.status)).toEqual([
      expect.stringMatching(/^(internal|unknown)_error$/),
    ]);
    expect(ofJob('d').map(({ contexts }) => contexts!.trace!.status)).toEqual(['ok', 'ok']);
    const runsOfMail = ofJob('a', 'b');
    expect(runsOfMail).toHaveLength(3);
    for (const { contexts } of runsOfMail) {
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

  it('gets the failures of worker processes, and of threads', async () => {
    const { folder } = await fetchPackages(`sentry-${version}`, [`@sentry/node@${version}`]);
    const { url } = await startOwnRedis();
    const redis = connect({}, url);
    await new JobQueue(redis, 'plain').enqueue({}, { id: 'p' });
    await new JobQueue(redis, 'thread').enqueue({}, { id: 't' });
    const args = ['--import', './test/support/typescript.mjs', 'test/long/sentry/processes-app.ts'];
    const env = { ...process.env, REDIS_URL: url, SENTRY_FOLDER: folder };
    const supervisor = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore' });
    const sent = async () => {
      const lines = (await redis.lrange('sent', 0, -1)).flatMap((body) => body.split('\n').filter(Boolean));
      return lines.map((line) => JSON.parse(line) as Item).filter(({ exception }) => exception);
    };
    await eventually(async () => (await sent()).length === 2, { timeoutMs: 60_000 });
    supervisor.kill();
    const told = (await sent()).map(({ exception, tags }) => [exception!.values[0]!.value, tags!]);
    expect(new Map(told as [string, object][])).toEqual(
      new Map([
        ['in a process', expect.objectContaining({ queue: 'plain', 'job.id': 'p', tenant: 'p' })],
        ['in a thread', expect.objectContaining({ queue: 'thread', 'job.id': 't' })],
      ]),
    );
    await once(supervisor, 'exit');
  }, 300_000);
});
