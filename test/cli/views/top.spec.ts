// The live view on a terminal of 80 columns and 24 rows, as its screen shows it.
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { cli, cliOnTerminal, cliRunningOnTerminal } from '../run-cli.js';
import { Screen } from '../screen.js';

const LONG_MS = 60_000;
const QUEUES = 40;
let env: { REDIS_URL: string };
let url: string;

beforeAll(async () => {
  ({ url } = await startOwnRedis());
  env = { REDIS_URL: url };
  const redis = connect({}, url);
  for (let i = 0; i < QUEUES; i++) {
    const queue = new JobQueue(redis, `a-queue-with-a-long-name-that-says-what-it-is-for-${i + 10}`);
    await queue.enqueue({});
    await queue.pause(); // each has a verdict of three lines
    queue.close();
  }
}, LONG_MS);

describe('top', () => {
  it.each(['SIGINT', 'SIGTERM', 'q'] as const)(
    'fits the screen, and shows the cursor again after %s',
    async (signal) => {
      const command = cliRunningOnTerminal(['top', '--every', '100'], env);
      await command.said(/more lines[^]*more lines/);
      const { lines, scrolled, isCursorShown } = new Screen(80, 24, command.ran.stdout);
      expect({ scrolled, isCursorShown }).toEqual({
        scrolled: 0,
        isCursorShown: false,
      });
      expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d UTC {2}.*:\d+ {2}q ends$/);
      expect(lines[1]).toMatch(/^▲ a-queue-with-a-long-name-that-says-what-it-is-for-10 {2}paused for /);
      const head = lines.findIndex((line) =>
        /queue +waiting +oldest +.*in\/s +out\/s +.*wait p95 +run p95 +failed/.test(line),
      );
      expect(lines.slice(0, head).at(-2)).toBe('… and 37 more, see `health`');
      expect(lines[head + 1]).toMatch(/^[●◐▲✕⋯] {2}a-queue-w…r-10 +1 /);
      expect(lines[22]).toMatch(/^… \d+ more lines$/);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
      if (signal === 'SIGTERM') command.signal(signal);
      else command.type(signal === 'q' ? 'q' : '\u0003');
      const { code, stdout } = await command.over;
      expect(new Screen(80, 24, stdout).isCursorShown).toBe(true);
      expect(code).toBe(EXIT.ok);
    },
    LONG_MS,
  );

  it(
    'walks over the keys once for many looks',
    async () => {
      const redis = connect({}, url);
      await redis.config('RESETSTAT');
      expect(await cli(['top', '--every', '100', '--count', '4', '--json'], env)).toMatchObject({ code: EXIT.ok });
      const keys = await redis.dbsize();
      expect(keys).toBeLessThan(5_000); // one step of the walk
      expect(await redis.info('commandstats')).toMatch(/^cmdstat_scan:calls=1,/m);
    },
    LONG_MS,
  );

  it(
    'says in JSON what it says in words',
    async () => {
      const { stdout } = await cli(['top', '--count', '1', '--json'], env);
      const [first] = Object.values((JSON.parse(stdout) as { queues: object }).queues);
      expect(first).toMatchObject({
        pending: 1,
        rates: null,
        wait: null,
        run: null,
        verdict: { severity: 'warning', state: 'paused', summary: expect.stringContaining('paused') },
      });
    },
    LONG_MS,
  );
});

describe('a table on a terminal of 80 columns', () => {
  it.each([[['stats']], [['list', 'a-queue-with-a-long-name-that-says-what-it-is-for-10', 'pending']]])(
    'of %j wraps nowhere',
    async (args) => {
      const { stdout } = await cliOnTerminal(
        args.map((each) => each),
        undefined,
        env,
      );
      for (const line of stdout.split(/\r?\n/)) {
        expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);
      }
    },
    LONG_MS,
  );
});
