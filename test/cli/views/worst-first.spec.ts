// Among very many queues the one that needs somebody is seen at once.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { cli, cliOnScreen } from '../run-cli.js';

const IDLE = 60;
let env: { REDIS_URL: string };

beforeAll(async () => {
  const { url } = await startOwnRedis();
  env = { REDIS_URL: url };
  const redis = connect({}, url);
  const queueOf = (name: string) => new JobQueue(redis, name);
  for (let i = 0; i < IDLE; i++) {
    await queueOf(`idle-${i + 10}`).enqueue(1, { delayMs: 3_600_000 });
  }
  await queueOf('paused').pause();
  await queueOf('paused').enqueue(1);
  const { id } = await queueOf('zoo').enqueue(1);
  await redis.hset(`queue:zoo:job:${id}`, 'enqueued_at_ms', Date.now() - 60_000);
});

describe('the worst queue comes first', () => {
  it('on the screen of top, with its cause and the next step', async () => {
    const command = cliOnScreen(['top'], { env });
    await command.shows(/more lines/);
    const [clock, ...lines] = command.screen().lines;
    command.type('q');
    await command.over;
    expect(clock).toMatch(/ UTC .* q ends$/);
    expect(lines[0]).toMatch(/^✕ zoo {2}stuck: 1 waiting for 1(\.\d)? min, no worker$/);
    expect(lines.slice(1, 3).join('\n')).toMatch(/^ {4}cause: .*\n {4}next: {2}start a worker/);
    expect(lines[3]).toMatch(/^▲ paused {2}paused/);
    const rows = lines.filter((line) => /^ [●◐▲✕⋯] {2}\S/.test(line)).map((line) => line.slice(4).split(' ')[0]);
    expect(rows.slice(0, 3)).toEqual(['zoo', 'paused', 'idle-10']);
  });

  it('in stats and health, which says how many more need nothing', async () => {
    const counted = await cli(['stats'], env);
    expect(counted.stdout.split('\n')[1]).toMatch(/^✕ {2}zoo /);
    const { stdout, code } = await cli(['health'], env);
    expect(code).toBe(EXIT.critical);
    expect(stdout).toMatch(/^✕ zoo [^]*▲ paused [^]*⋯ idle-10 /);
    expect(stdout).toMatch(/⋯ idle-29 {2}idle: nothing waits\n● 40 more queues need nothing\n$/);
    const { stdout: json } = await cli(['health', '--json'], env);
    expect((JSON.parse(json) as { queues: object[] }).queues).toHaveLength(IDLE + 2);
  });
});
