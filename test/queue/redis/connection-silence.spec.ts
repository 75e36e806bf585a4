// Which connections count as dead: those on which no byte arrives, and none leaves a full buffer.
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { silenceOf } from '#queue/redis/response-timeout.js';

const LIMIT_MS = 10_000;

it.each<[string, object, boolean]>([
  ['dead while nothing moves', {}, false],
  ['alive once bytes arrive', { bytesRead: 1 }, true],
  ['alive once bytes leave a full buffer', { writableLength: 50_000 }, true],
  ['dead if its full buffer gets more bytes', { bytesWritten: 120_000, writableLength: 110_000 }, false],
])('a connection is %s', (_, change, isAlive) => {
  const stream = { bytesRead: 0, bytesWritten: 100_000, writableLength: 90_000 };
  const client = { status: 'ready', stream, commandQueue: [] } as unknown as Redis;
  const silence = silenceOf(client, performance.now() - LIMIT_MS);
  expect(silence.remainingMs(LIMIT_MS)).toBe(0);
  Object.assign(stream, change);
  expect(silence.remainingMs(LIMIT_MS)).toBe(isAlive ? LIMIT_MS : 0);
});
