// One queue that cannot be read: its row says why, and the others are shown.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { LAYOUT } from '#queue/scripts/layout.js';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { cli } from '../run-cli.js';

let env: { REDIS_URL: string };

beforeAll(async () => {
  const { url } = await startOwnRedis();
  env = { REDIS_URL: url };
  const redis = connect({}, url);
  for (const name of ['email', 'newer', 'broken']) {
    const queue = new JobQueue(redis, name);
    await queue.enqueue({});
    queue.close();
  }
  await redis.hset('queue:newer:sweep', 'layout', 9);
  await redis.del('queue:broken:pending');
  await redis.set('queue:broken:pending', 'of somebody else');
});

describe.each([[['stats']], [['top', '--count', '1']], [['health']]])('%j', (args) => {
  it('shows the readable jobs, and the error', async () => {
    const { code, stdout, stderr } = await cli(args, env);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^● +email/m);
    expect(stdout).toContain(`▲ newer  unreadable: its keys have layout 9, and this version knows up to ${LAYOUT}`);
    expect(stdout).toContain('    next:  upgrade nest-job-queue here');
    expect(stdout).toMatch(/▲ broken {2}unreadable: The key queue:broken:pending has the wrong type/);
    expect(code).toBe(args[0] === 'health' ? EXIT.warning : EXIT.ok);
  });
});

it('is in JSON with a verdict and no figures', async () => {
  const { queues } = JSON.parse((await cli(['stats', '--json'], env)).stdout) as {
    queues: Record<string, object>;
  };
  expect(queues['newer']).toEqual({
    verdict: expect.objectContaining({ severity: 'warning', state: 'unreadable' }),
  });
  expect(queues['email']).toMatchObject({ pending: 1 });
});

it('has the same words in health and in the doctor where a key has a wrong type', async () => {
  const ran = await cli(['health', 'broken'], env);
  expect(ran).toMatchObject({ code: EXIT.warning, stdout: expect.stringContaining('TYPE queue:broken:pending') });
  const { code, stdout } = await cli(['doctor', 'broken'], env);
  expect(stdout).toMatch(/type +queue:broken:pending +string +list +no/);
  expect(code).toBe(EXIT.warning);
});

it.each([['newer', 'which a newer version of nest-job-queue wrote', 'upgrade nest-job-queue here']])(
  'has the same verdict where health names %s, and fails a command that must read it',
  async (name, words, next) => {
    const ran = await cli(['health', name], env);
    expect(ran).toMatchObject({ code: EXIT.warning, stderr: '', stdout: expect.stringContaining(next) });
    const failed = await cli(['doctor', name], env);
    expect(failed).toMatchObject({ code: EXIT.failed, stdout: '', stderr: expect.stringContaining(words) });
  },
);
