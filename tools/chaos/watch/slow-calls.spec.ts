// The watch over slow calls, with a script that really is slow.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis/own-redis.js';
import { connect } from '../../../test/support/redis/redis.js';
import { sleep } from '../../../test/support/faults/wait.js';
import { monotonicMs } from '../histories/clock.js';
import { HistoryWriter, type Entry } from '../histories/history.js';
import { SlowCalls } from './slow-calls.js';

const folder = mkdtempSync(join(tmpdir(), 'slow-calls-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Watches these scripts on its own server, and returns what was recorded. */
async function watched<Name extends string>(scripts: Record<Name, string>) {
  const server = await startOwnRedis({ args: ['--enable-debug-command', 'yes'] });
  const redis = connect({}, server.url);
  const file = join(folder, `${server.port}.jsonl`);
  const history = new HistoryWriter(file, 0, 'runner');
  const slowCalls = new SlowCalls([server.url], history, scripts);
  const shas = {} as Record<Name, string>;
  for (const name of Object.keys(scripts) as Name[]) {
    shas[name] = (await redis.script('LOAD', scripts[name])) as string;
  }
  const noted = async () => {
    await slowCalls.stop();
    history.close();
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Entry).filter((entry) => entry[0] === 'slow');
  };
  return { server, redis, shas, noted };
}

it('notes a script that keeps the server from its other clients though it calls no command', async () => {
  const { redis, shas, noted } = await watched({ busy: 'for _ = 1, 5e7 do end', idle: 'return 1' });
  await redis.evalsha(shas.idle, 0);
  await redis.evalsha(shas.busy, 0);
  await redis.call('DEBUG', 'SLEEP', '0.03'); // slow too, and no script
  const slow = await noted();
  expect(slow).toEqual([['slow', 'busy', expect.any(Number), expect.any(Number)]]);
  expect(slow[0]![2]).toBeGreaterThan(10);
  expect(Math.abs(slow[0]![3] - monotonicMs())).toBeLessThan(5_000);
});

it('counts only the work of a script, where the server had no processor in the middle of it', async () => {
  const { server, redis, shas, noted } = await watched({
    busy: 'for _ = 1, 4e7 do end',
  });
  await sleep(600); // until the watch has looked once
  const call = redis.evalsha(shas.busy, 0);
  await sleep(30);
  await server.kill('SIGSTOP');
  await sleep(1_500);
  await server.kill('SIGCONT');
  await call;
  const slow = await noted();
  expect(slow).toEqual([['slow', 'busy', expect.any(Number), expect.any(Number)]]);
  expect(slow[0]![2]).toBeGreaterThan(30);
  expect(slow[0]![2]).toBeLessThan(1_500);
});
