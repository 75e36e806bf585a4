// The command line beside each way to run Redis: Sentinel, Cluster, TLS, a password, a prefix. An address of the wrong server
// or database reads and writes nothing there, and the error says why. And what it asks on a terminal.
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { makeCertificates } from '../support/redis/certificates.js';
import { startCluster, type OwnCluster } from '../support/redis/own-cluster.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { startSentinelSet, type SentinelSet } from '../support/redis/sentinel-set.js';
import { newQueue } from '../support/worker/workers.js';
import { cli, cliOnTerminal, cliProcess, cliRunningOnTerminal } from './run-cli.js';

jest.setTimeout(120_000); // servers that find each other, and processes

const certificates = makeCertificates();
let sentinelSet: SentinelSet;
let cluster: OwnCluster;
let tlsCluster: OwnCluster;

// All at once, because their servers wait for each other.
beforeAll(async () => {
  [sentinelSet, cluster, tlsCluster] = await Promise.all([
    startSentinelSet(),
    filled(startCluster()),
    filled(startCluster({ certificates })),
  ]);
});

/** Adds a job to each of three queues of a Cluster that starts. */
async function filled(starting: Promise<OwnCluster>): Promise<OwnCluster> {
  const started = await starting;
  for (const name of ['a', 'b', 'c']) {
    const queue = new JobQueue(started.connect(), name);
    await queue.enqueue({});
    queue.close();
  }
  return started;
}

async function expectRefused(
  args: string[],
  env: Record<string, string>,
  code: number,
  ...said: string[]
): Promise<void> {
  const ran = await cli(args, env);
  expect(ran).toMatchObject({ code, stdout: '' });
  said.forEach((words) => expect(ran.stderr).toContain(words));
  expect(ran.stderr).not.toMatch(/^\s+at /m);
}

describe('the command line', () => {
  it('finds the master by its Sentinels', async () => {
    const queue = new JobQueue(connect({}, sentinelSet.master.url), 'email');
    await queue.enqueue({ to: 'ada' });
    const env = { REDIS_URL: sentinelSet.sentinels.map(({ port }) => `redis://127.0.0.1:${port}`).join(',') };
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
  });

  it('reads and steers queues on all masters of a Cluster', async () => {
    const { connect: connectCluster, nodes } = cluster;
    const env = { REDIS_URL: nodes[0]!.url };
    expect(await cli(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\nb\nc\n' });
    const counted = await cli(['stats', '--cluster', '--json'], env);
    const one = { pending: 1 };
    expect(JSON.parse(counted.stdout)).toMatchObject({ queues: { a: one, b: one, c: one } });
    expect(await cli(['doctor', 'b', '--cluster'], env)).toMatchObject({ code: EXIT.ok });
    expect(await cli(['pause', 'c', '--cluster'], env)).toMatchObject({ stdout: 'paused\n' });
    const queue = new JobQueue(connectCluster(), 'c');
    expect((await queue.stats()).pausedAt).not.toBeNull();
    await queue.resume();
    queue.close();
  });

  it('gives the password of the address to each node of a Cluster', async () => {
    const { nodes, node } = cluster;
    const require = (password: string) =>
      Promise.all(nodes.map((server) => node(server).config('SET', 'requirepass', password)));
    await require('open-sesame');
    const env = { REDIS_URL: `redis://:open-sesame@${new URL(nodes[0]!.url).host}` };
    expect(await cli(['queues', '--cluster'], env)).toMatchObject({ code: EXIT.ok, stdout: 'a\nb\nc\n' });
    const counted = await cli(['stats', '--cluster', '--json'], env);
    expect(counted).toMatchObject({ code: EXIT.ok, stderr: '' });
    expect(Object.keys((JSON.parse(counted.stdout) as { queues: object }).queues)).toEqual(['a', 'b', 'c']);
    expect(await cli(['pause', 'c', '--cluster'], env)).toMatchObject({ stdout: 'paused\n' });
    const wrong = { REDIS_URL: env.REDIS_URL.replace('open', 'closed') };
    expect(await cli(['queues', '--cluster'], wrong)).toMatchObject({ code: EXIT.unreachable });
    await require('');
  });

  it('speaks TLS to each node of a Cluster, by its address or by the name that its certificate is for', async () => {
    const [first] = tlsCluster.nodes;
    const env = { REDIS_URL: first!.url, NODE_EXTRA_CA_CERTS: certificates.files.ca };
    const listed = { code: EXIT.ok, stdout: 'a\nb\nc\n' };
    expect(await cliProcess(['queues', '--cluster'], env)).toMatchObject(listed);
    const stranger = { REDIS_URL: first!.url };
    expect(await cli(['queues', '--cluster'], stranger)).toMatchObject({ code: EXIT.unreachable });
    const others = makeCertificates('DNS:localhost');
    await tlsCluster.announce('localhost', others);
    const named = { REDIS_URL: `rediss://localhost:${first!.port}`, NODE_EXTRA_CA_CERTS: others.files.ca };
    expect(await cliProcess(['queues', '--cluster'], named)).toMatchObject(listed);
  });

  it('verifies the certificate of a server', async () => {
    const server = await startOwnRedis({ tls: certificates.files });
    const unknown = await cli(['queues'], { REDIS_URL: server.url });
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
  });

  it('shows no password, and finds keys of another prefix', async () => {
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
  });
});

describe('an address', () => {
  it('of a database that Redis refuses leads to no other', async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    await new JobQueue(redis, 'email').enqueue({});
    const at = (db: string) => ({ REDIS_URL: `${server.url}/${db}` });
    const asked = 'Database 99 of Redis at';
    await expectRefused(['health'], at('99'), EXIT.unreachable, asked, 'out of range', 'a wrong number');
    await expectRefused(['pause', 'email'], at('99'), EXIT.unreachable, asked);
    await expectRefused(['health'], at('abc'), EXIT.usage, 'redis://host:port/<number>', '/…"');
    await redis.acl('SETUSER', 'reader', 'on', '>word', '~*', '&*', '+@all', '-select');
    const reader = { REDIS_URL: `${server.url.replace('//', '//reader:word@')}/1` };
    await expectRefused(['queues'], reader, EXIT.unreachable, 'Database 1', '`select`');
    expect(await cli(['queues'], at('0'))).toMatchObject({ code: EXIT.ok, stdout: 'email\n' });
    expect(await cli(['queues', '--json'], at('1'))).toMatchObject({ code: EXIT.ok, stdout: '[]\n' });
  });

  it('of one node of a Cluster is refused, since a part of the queues may look well', async () => {
    const { nodes } = cluster;
    const env = { REDIS_URL: nodes[0]!.url };
    await expectRefused(['health'], env, EXIT.usage, 'is a node of a Cluster', 'Pass --cluster');
  });

  it('of a Sentinel, or of none, says which option is wrong', async () => {
    const { sentinels, master } = sentinelSet;
    const env = { REDIS_URL: `redis://127.0.0.1:${sentinels[0]!.port}` };
    await expectRefused(['health'], env, EXIT.usage, 'is a Sentinel', 'Pass --sentinel <master>');
    await expectRefused(
      ['health', '--sentinel', 'none'],
      env,
      EXIT.unreachable,
      'No such master',
      'The name after',
    );
    const redis = { REDIS_URL: master.url };
    await expectRefused(['health', '--sentinel', 'jobs'], redis, EXIT.unreachable, 'No Sentinel is there');
    await expectRefused(['health', '--cluster'], redis, EXIT.unreachable, 'It is no Cluster: leave out --cluster');
  });

  it('without TLS, or with an unknown authority, says so', async () => {
    const server = await startOwnRedis({ tls: makeCertificates().files });
    const plain = server.url.replace('rediss:', 'redis:');
    await expectRefused(['health'], { REDIS_URL: server.url }, EXIT.unreachable, 'NODE_EXTRA_CA_CERTS=<file>');
    await expectRefused(['health'], { REDIS_URL: plain }, EXIT.unreachable, 'its address is rediss://');
  });

  it('says that it cannot see jobs in the memory of an app', async () => {
    await expectRefused(
      ['health'],
      { REDIS_URL: 'memory' },
      EXIT.usage,
      'inside of the app',
      'the dashboard of the app',
    );
    await expectRefused(['health', '--redis', 'memory'], {}, EXIT.usage, 'or name a Redis');
  });

  it('has a prefix that is no pattern', async () => {
    for (const prefix of ['qu*', '']) {
      await expectRefused(
        ['queues', '--prefix', prefix],
        {},
        EXIT.usage,
        '--prefix: expected 1 to 64 of',
        JSON.stringify(prefix),
      );
    }
  });
});

describe('on a terminal', () => {
  it.each([
    ['n', EXIT.failed, 1],
    ['y', EXIT.ok, 0],
  ])('asks before it destroys, and takes %j for an answer', async (answer, code, left) => {
    const queue = newQueue();
    await queue.enqueue(1);
    await queue.fail((await queue.claim())!, new Error('down'), { final: true });
    const ran = await cliOnTerminal(['discard', queue.name, '--all'], answer);
    expect(ran.stdout).toContain('Go on? [y/N]');
    expect(ran.code).toBe(code);
    expect((await queue.stats()).failed).toBe(left);
  });

  it.each([
    ['Ctrl+C', '\u0003'],
    ['Ctrl+D', '\u0004'],
  ])('takes %s for a no', async (_, key) => {
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
  });

  it('lets nothing that a queue holds steer it', async () => {
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
  });
});
