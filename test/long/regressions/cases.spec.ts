// Small programs that once showed a fault of the built package. Each runs in a process of its own. Programs that need only the
// sources are in test/long/cases.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from '@jest/globals';
import { buildShop } from '../../support/browser/shop.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

beforeAll(buildShop, 240_000); // and the library

it.each<[string, ...unknown[]]>([
  ['thread-json', [{ price: 5, url: 'http://a/b' }, { at: 5 }], [{ price: 5, url: 'http://a/b' }, { at: 5 }]],
  ['two-copies', ['shared']],
  [
    'not-awaited',
    [
      [1, 100],
      [1, 100],
    ],
  ],
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
