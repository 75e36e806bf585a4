// The watch over slow calls, with a script that really is slow.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { startOwnRedis } from '../support/own-redis.js';
import { connect } from '../support/redis.js';
import { HistoryWriter, monotonicMs, type Entry } from './history.js';
import { SlowCalls } from './slow-calls.js';

const folder = mkdtempSync(join(tmpdir(), 'slow-calls-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('notes a script that keeps the server from its other clients though it calls no command', async () => {
  const server = await startOwnRedis({ args: ['--enable-debug-command', 'yes'] });
  const redis = connect({}, server.url);
  const busy = 'for _ = 1, 5e7 do end';
  const idle = 'return 1';
  const file = join(folder, 'runner.jsonl');
  const history = new HistoryWriter(file, 0, 'runner');
  const slowCalls = new SlowCalls([server.url], history, { busy, idle });
  const [busySha, idleSha] = await Promise.all(
    [busy, idle].map((text) => redis.script('LOAD', text) as Promise<string>),
  );
  await redis.evalsha(idleSha!, 0);
  await redis.evalsha(busySha!, 0);
  await redis.call('DEBUG', 'SLEEP', '0.03'); // slow too, and no script
  await slowCalls.stop();
  history.close();
  const entries = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
  const slow = entries.filter((entry) => entry[0] === 'slow');
  expect(slow).toEqual([['slow', 'busy', expect.any(Number), expect.any(Number)]]);
  expect(slow[0]![2]).toBeGreaterThan(10);
  expect(Math.abs(slow[0]![3] - monotonicMs())).toBeLessThan(3_000);
});
