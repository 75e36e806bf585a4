// The command line beside a million jobs: it stays quick, and no call holds up Redis.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { EXIT } from '#cli/exit-codes.js';
import { cliProcess, type Ran } from '../../cli/run-cli.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { sleep } from '../../support/faults/wait.js';

const JOBS = 1_000_000;
const DEAD = 20_000;
/** The time one command may hold up the server, in ms. */
const LONGEST_MS = 100;

let redis: Redis;
let env: Record<string, string>;
let queue: JobQueue;

beforeAll(async () => {
  const server = await startOwnRedis();
  redis = connect({}, server.url);
  env = { REDIS_URL: server.url };
  queue = new JobQueue(redis, 'many', { deadLetterCap: 100_000 });
  const slice = Array.from({ length: 500 }, (_, i) => ({ payload: { to: 'ada@example.com', i } }));
  for (let sent = 0; sent < JOBS; sent += 5_000) {
    await Promise.all(Array.from({ length: 10 }, () => queue.enqueueMany(slice)));
  }
  for (let failed = 0; failed < DEAD; failed += 500) {
    const jobs = await queue.claimMany(500);
    await Promise.all(jobs.map((job) => queue.fail(job, new Error('down'), { final: true })));
  }
  await cliProcess(['--help']); // compiles the sources
}, 600_000);

/** Runs a command; no call of it may be slow. */
async function quick(args: string[], most: number): Promise<Ran> {
  await redis.config('SET', 'slowlog-log-slower-than', LONGEST_MS * 1_000);
  await redis.slowlog('RESET');
  const started = performance.now();
  const ran = await cliProcess(args, env);
  expect({ args, ...ran }).toMatchObject({ code: expect.any(Number), stderr: '' });
  expect(performance.now() - started).toBeLessThan(most);
  expect(await redis.slowlog('GET', 10)).toEqual([]);
  return ran;
}

it.each([
  [['stats']],
  [['list', 'many', 'pending', '--limit', '1000']],
  [['list', 'many', 'pending', '--offset', '900000']],
  [['list', 'many', 'failed']],
  [['workers', 'many']],
  [['limits', 'many']],
  [['queues']],
  [['top', '--count', '1']],
])('%j', async (args) => {
  expect((await quick(args, 15_000)).code).toBe(EXIT.ok);
});

it('walks over the keys once for many looks of top', async () => {
  await redis.config('RESETSTAT');
  expect((await quick(['top', '--count', '5', '--every', '100'], 20_000)).code).toBe(EXIT.ok);
  const [, steps] = /^cmdstat_scan:calls=(\d+),/m.exec(await redis.info('commandstats'))!;
  const once = (await redis.dbsize()) / 5_000;
  expect(Number(steps)).toBeGreaterThan(once * 0.5);
  expect(Number(steps)).toBeLessThan(once * 1.5);
});

it('says that no worker claims them', async () => {
  const { code, stdout } = await quick(['health', 'many'], 15_000);
  expect(stdout).toContain('980,000 waiting');
  expect([EXIT.ok, EXIT.critical]).toContain(code);
});

it('redrives all dead letters in slices', async () => {
  const { stdout } = await quick(['redrive', 'many', '--all'], 60_000);
  expect(stdout).toBe('redriven: 20,000 dead letters\n');
  expect((await queue.stats()).pending).toBe(JOBS);
});

it('ends with words where Redis goes away in the middle', async () => {
  const server = await startOwnRedis();
  const other = new JobQueue(connect({}, server.url), 'many', { deadLetterCap: 100_000 });
  await other.enqueueMany(Array.from({ length: 20_000 }, (_, payload) => ({ payload })));
  for (let failed = 0; failed < 20_000; failed += 500) {
    const jobs = await other.claimMany(500);
    await Promise.all(jobs.map((job) => other.fail(job, new Error('down'), { final: true })));
  }
  const running = cliProcess(['redrive', 'many', '--all'], { REDIS_URL: server.url });
  while ((await other.stats()).failed === 20_000) await sleep(5);
  await server.kill('SIGKILL');
  other.close();
  const { code, stderr } = await running;
  expect(code).toBe(EXIT.unreachable);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(stderr).toContain('was cut');
});
