// Addresses that lead to the wrong server or database. Nothing is read or written there, and the error says why.
import { expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { makeCertificates } from '../support/redis/certificates.js';
import { startCluster } from '../support/redis/own-cluster.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { startSentinelSet } from '../support/redis/sentinel-set.js';
import { cli } from './run-cli.js';

const LONG_MS = 120_000; // a process for each command

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

it(
  'of a database that Redis refuses leads to no other',
  async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    await new JobQueue(redis, 'email').enqueue({});
    const at = (db: string) => ({ REDIS_URL: `${server.url}/${db}` });
    const asked = 'Database 99 of Redis at';
    await expectRefused(['health'], at('99'), EXIT.unreachable, asked, 'out of range', 'a wrong number');
    await expectRefused(['pause', 'email'], at('99'), EXIT.unreachable, asked);
    await expectRefused(['health'], at('abc'), EXIT.usage, 'redis://host:port/<number>', 'found "abc"');
    await redis.acl('SETUSER', 'reader', 'on', '>word', '~*', '&*', '+@all', '-select');
    const reader = { REDIS_URL: `${server.url.replace('//', '//reader:word@')}/1` };
    await expectRefused(['queues'], reader, EXIT.unreachable, 'Database 1', '`select`');
    expect(await cli(['queues'], at('0'))).toMatchObject({ code: EXIT.ok, stdout: 'email\n' });
    expect(await cli(['queues', '--json'], at('1'))).toMatchObject({ code: EXIT.ok, stdout: '[]\n' });
  },
  LONG_MS,
);

it(
  'of one node of a Cluster is refused, since a part of the queues may look well',
  async () => {
    const cluster = await startCluster();
    const env = { REDIS_URL: cluster.nodes[0]!.url };
    await expectRefused(['health'], env, EXIT.usage, 'is a node of a Cluster', 'Pass --cluster');
  },
  LONG_MS,
);

it(
  'of a Sentinel, or of none, says which option is wrong',
  async () => {
    const { sentinels, master } = await startSentinelSet();
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
  },
  LONG_MS,
);

it(
  'with TLS where there is none, without it, or with an unknown authority, says so',
  async () => {
    const server = await startOwnRedis({ tls: makeCertificates().files });
    const plain = server.url.replace('rediss:', 'redis:');
    await expectRefused(['health'], { REDIS_URL: server.url }, EXIT.unreachable, 'NODE_EXTRA_CA_CERTS=<file>');
    await expectRefused(['health'], { REDIS_URL: plain }, EXIT.unreachable, 'its address is rediss://');
    const { url } = await startOwnRedis();
    const tls = { REDIS_URL: url.replace('redis:', 'rediss:') };
    await expectRefused(['health'], tls, EXIT.unreachable, 'whether this port speaks TLS');
  },
  LONG_MS,
);

it(
  'has a prefix that is no pattern',
  async () => {
    for (const prefix of ['qu*', '']) {
      await expectRefused(
        ['queues', '--prefix', prefix],
        {},
        EXIT.usage,
        '--prefix: expected 1 to 64 of',
        JSON.stringify(prefix),
      );
    }
  },
  LONG_MS,
);
