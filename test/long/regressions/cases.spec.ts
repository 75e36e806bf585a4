// Small programs that once showed a fault. Each runs on the built package, in a process of its own.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from '@jest/globals';
import { buildShop } from '../../support/browser/shop.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

beforeAll(buildShop, 240_000); // and the library

it.each<[string, ...unknown[]]>([
  ['clock-ahead', { ticks: true, sent: 1 }],
  ['gap-at-midnight', ['2027-03-21T01:45:00.000Z', '2027-03-28T01:00:00.000Z', '2027-04-04T00:45:00.000Z']],
  ['thread-json', [{ price: 5, url: 'http://a/b' }, { at: 5 }], [{ price: 5, url: 'http://a/b' }, { at: 5 }]],
  ['two-copies', ['shared']],
  [
    'not-awaited',
    [
      [1, 100],
      [1, 100],
    ],
  ],
  ['cut-emoji', [true]],
  ['signal-warning', []],
])(
  '%s',
  async (name, ...printed) => {
    const program = fileURLToPath(new URL(`./cases/${name}.mjs`, import.meta.url));
    const { url } = await startOwnRedis();
    const { stdout } = await promisify(execFile)('node', [program], {
      env: { ...process.env, REDIS_URL: url },
      timeout: 60_000,
    });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(printed);
  },
  90_000,
);
