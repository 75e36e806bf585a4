// The command line beside each way to run Redis: Sentinel, Cluster, TLS, a password, a prefix. And what it asks on a terminal.
import { describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { makeCertificates } from '../support/redis/certificates.js';
import { startCluster } from '../support/redis/own-cluster.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { startSentinelSet } from '../support/redis/sentinel-set.js';
import { newQueue } from '../support/worker/workers.js';
import { cli, cliOnTerminal, cliProcess, cliRunningOnTerminal } from './run-cli.js';

const LONG_MS = 120_000; // a process for each command

describe('the command line', () => {
  it(
    'finds the master by its Sentinels',
    async () => {
      const set = await startSentinelSet();
      const queue = new JobQueue(connect({}, set.master.url), 'email');
      await queue.enqueue({ to: 'ada' });
      const env = { REDIS_URL: set.sentinels.map(({ port }) => `redis://127.0.0.1:${port}`).join(',') };
      const counted = await cli(['stats', 'email', '--sentinel', 'jobs', '--json'], env);
      expect(counted).toMatchObject({ code: EXIT.ok, stderr: '' });
      expect(JSON.parse(counted.stdout)).toMatchObject({
        server: { severity: 'ok' },
        queues: { email: { pending: 1 } },
      });
      expect(await cli(['pause', 'email', '--sentinel', 'jobs'], env)).toMatchObject({ stdout: 'paused\n' });
      expect((await queue.stats()).pausedAt).not.toBeNull();
      const unknown = await cli(['queues', '--sentinel', 'no-such-master'], env);
      expect(unknown).toMatchObject({ code: EXIT.unreachable, stderr: expect.stringContaining('no-such-master') });
      queue.close();
    },
    LONG_MS,
  );

  it(
    'reads and steers queues on all masters of a Cluster',
    async () => {
      const cluster = await startCluster();
      const queues = ['a', 'b', 'c'].map((name) => new JobQueue(cluster.connect(), name));
      for (const queue of queues) await queue.enqueue({});
      const env = { REDIS_URL: cluster.nodes[0]!.url };
      expect(await cli(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\nb\nc\n' });
      const counted = await cli(['stats', '--cluster', '--json'], env);
      const one = { pending: 1 };
      expect(JSON.parse(counted.stdout)).toMatchObject({ queues: { a: one, b: one, c: one } });
      expect(await cli(['doctor', 'b', '--cluster'], env)).toMatchObject({ code: EXIT.ok });
      expect(await cli(['pause', 'c', '--cluster'], env)).toMatchObject({ stdout: 'paused\n' });
      expect((await queues[2]!.stats()).pausedAt).not.toBeNull();
      queues.forEach((queue) => queue.close());
    },
    LONG_MS,
  );

  it(
    'gives the password of the address to each node of a Cluster',
    async () => {
      const cluster = await startCluster();
      const queues = ['a', 'b', 'c'].map((name) => new JobQueue(cluster.connect(), name));
      for (const queue of queues) await queue.enqueue({});
      queues.forEach((queue) => queue.close());
      for (const server of cluster.nodes) {
        await cluster.node(server).config('SET', 'requirepass', 'open-sesame');
      }
      const env = { REDIS_URL: `redis://:open-sesame@${new URL(cluster.nodes[0]!.url).host}` };
      expect(await cli(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\nb\nc\n' });
      const counted = await cli(['stats', '--cluster', '--json'], env);
      expect(counted).toMatchObject({ code: EXIT.ok, stderr: '' });
      expect(Object.keys((JSON.parse(counted.stdout) as { queues: object }).queues)).toEqual(['a', 'b', 'c']);
      expect(await cli(['pause', 'c', '--cluster'], env)).toMatchObject({ stdout: 'paused\n' });
      const wrong = { REDIS_URL: env.REDIS_URL.replace('open', 'closed') };
      expect(await cli(['queues', '--cluster'], wrong)).toMatchObject({ code: EXIT.unreachable });
    },
    LONG_MS,
  );

  it(
    'speaks TLS to each node of a Cluster',
    async () => {
      const certificates = makeCertificates();
      const cluster = await startCluster({ certificates });
      const queues = ['a', 'b', 'c'].map((name) => new JobQueue(cluster.connect(), name));
      for (const queue of queues) await queue.enqueue({});
      queues.forEach((queue) => queue.close());
      const env = { REDIS_URL: cluster.nodes[0]!.url, NODE_EXTRA_CA_CERTS: certificates.files.ca };
      expect(await cliProcess(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\nb\nc\n' });
      expect(await cliProcess(['pause', 'c', '--cluster'], env)).toMatchObject({ stdout: 'paused\n' });
      const stranger = { REDIS_URL: cluster.nodes[0]!.url };
      expect(await cliProcess(['queues', '--cluster'], stranger)).toMatchObject({ code: EXIT.unreachable });
    },
    LONG_MS,
  );

  it(
    'asks each node of a Cluster for the name that its certificate is for',
    async () => {
      const certificates = makeCertificates('DNS:localhost');
      const cluster = await startCluster({ certificates, hostname: 'localhost' });
      const env = {
        REDIS_URL: `rediss://localhost:${cluster.nodes[0]!.port}`,
        NODE_EXTRA_CA_CERTS: certificates.files.ca,
      };
      expect(await cliProcess(['enqueue', 'a', '1', '--cluster'], env)).toMatchObject({ code: EXIT.ok });
      expect(await cliProcess(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\n' });
    },
    LONG_MS,
  );

  it(
    'verifies the certificate of a server',
    async () => {
      const certificates = makeCertificates();
      const server = await startOwnRedis({ tls: certificates.files });
      const unknown = await cliProcess(['queues'], { REDIS_URL: server.url });
      expect(unknown).toMatchObject({
        code: EXIT.unreachable,
        stderr: expect.stringMatching(/SELF_SIGNED|certificate/i),
      });
      const known = await cliProcess(['queues'], {
        REDIS_URL: server.url,
        NODE_EXTRA_CA_CERTS: certificates.files.ca,
      });
      expect(known).toMatchObject({
        code: EXIT.ok,
        stderr: '',
        stdout: expect.stringContaining('There are no queues at'),
      });
    },
    LONG_MS,
  );

  it(
    'shows no password, and finds keys of another prefix',
    async () => {
      const server = await startOwnRedis({ args: ['--requirepass', 'open-sesame'] });
      const { host } = new URL(server.url);
      const url = `redis://:open-sesame@${host}`;
      const queue = new JobQueue(connect({}, url), 'email', { prefix: 'shop' });
      await queue.enqueue({});
      expect(await cli(['queues', '--prefix', 'shop'], { REDIS_URL: url })).toMatchObject({ stdout: 'email\n' });
      expect(await cli(['health'], { REDIS_URL: url })).toMatchObject({
        code: EXIT.notFound,
        stderr: expect.stringContaining('whose keys begin with "queue"'),
      });
      const wrong = await cli(['queues', '--verbose'], { REDIS_URL: `redis://:wrong-word@${host}` });
      expect(wrong.code).toBe(EXIT.unreachable);
      expect(wrong.stderr + wrong.stdout).not.toContain('wrong-word');
      queue.close();
    },
    LONG_MS,
  );
});

describe('on a terminal', () => {
  it.each([
    ['n', EXIT.failed, 1],
    ['y', EXIT.ok, 0],
  ])(
    'asks before it destroys, and takes %j for an answer',
    async (answer, code, left) => {
      const queue = newQueue();
      await queue.enqueue(1);
      await queue.fail((await queue.claim())!, new Error('down'), { final: true });
      const ran = await cliOnTerminal(['discard', queue.name, '--all'], answer);
      expect(ran.stdout).toContain('Go on? [y/N]');
      expect(ran.code).toBe(code);
      expect((await queue.stats()).failed).toBe(left);
    },
    LONG_MS,
  );

  it.each([
    ['Ctrl+C', '\u0003'],
    ['Ctrl+D', '\u0004'],
  ])(
    'takes %s for a no',
    async (_, key) => {
      const queue = newQueue();
      await queue.enqueue(1);
      await queue.fail((await queue.claim())!, new Error('down'), { final: true });
      const command = cliRunningOnTerminal(['discard', queue.name, '--all']);
      await command.said('[y/N]');
      command.type(key);
      const { code, stdout } = await command.over;
      expect(code).toBe(EXIT.failed);
      expect(stdout).toContain('Nothing was changed.');
      expect((await queue.stats()).failed).toBe(1);
    },
    LONG_MS,
  );

  it(
    'lets nothing that a queue holds steer it',
    async () => {
      const queue = newQueue();
      const hostile = 'red\u001B[31m\u001B]0;title\u0007\nforged\u202E';
      const { id } = await queue.enqueue(1, { name: hostile });
      await queue.fail((await queue.claim())!, new Error(hostile), { final: true });
      for (const args of [
        ['list', queue.name, 'failed'],
        ['show', queue.name, id],
        ['health', queue.name],
      ]) {
        const { stdout } = await cliOnTerminal(args);
        for (const part of ['\u001B[31m\u001B', '\u001B]', '\u0007', '\u202E', '\nforged']) {
          expect(stdout).not.toContain(part);
        }
      }
    },
    LONG_MS,
  );
});
