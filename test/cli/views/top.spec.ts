// The live view on a terminal of 80 columns and 24 rows, as its screen shows it.
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { shardNames } from '#queue/model/spread.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { cli, cliOnScreen, cliOnTerminal, cliRunningOnTerminal, type OnScreen } from '../run-cli.js';
import { Screen } from '../screen.js';

const QUEUES = 40;
const [UP, DOWN, LEFT] = ['\u001B[A', '\u001B[B', '\u001B[D'];
const nameOf = (i: number) => `a-queue-with-a-long-name-that-says-what-it-is-for-${i + 10}`;
let env: { REDIS_URL: string };
let url: string;

beforeAll(async () => {
  ({ url } = await startOwnRedis());
  env = { REDIS_URL: url };
  const redis = connect({}, url);
  for (let i = 0; i < QUEUES; i++) {
    const queue = new JobQueue(redis, nameOf(i));
    await queue.enqueue({});
    await queue.pause(); // each has a verdict of three lines
    queue.close();
  }
});

describe('top', () => {
  it('parts its readings by an empty line on a pipe', async () => {
    const { stdout } = await cli(['top', nameOf(0), '--every', '100', '--count', '2'], env);
    expect(stdout.split(/(?<=^|\n\n)(?=▲ a-queue-\S+ {2}paused )/)).toHaveLength(2);
  });

  it('fits the screen, and leaves the terminal as it was after SIGTERM', async () => {
    const command = cliRunningOnTerminal(['top', '--every', '100'], env);
    await command.said(/more lines[^]*more lines/);
    const { lines, scrolled, isCursorShown } = new Screen(80, 24, command.ran.stdout);
    expect({ scrolled, isCursorShown }).toEqual({ scrolled: 0, isCursorShown: false });
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d UTC {2}.*:\d+ {2}↑↓ Enter queue {2}e errors {2}p pause {2}q ends$/);
    expect(lines[1]).toMatch(/^▲ a-queue-with-a-long-name-that-says-what-it-is-for-10 {2}paused for /);
    const head = lines.findIndex((line) =>
      /queue +waiting +oldest +.*in\/s +out\/s +.*wait p95 +run p95 +failed/.test(line),
    );
    expect(lines.slice(0, head).at(-2)).toBe('… and 37 more, see `health`');
    expect(lines[head + 1]).toMatch(/^ ▲ {2}a-queue-\S*…r-10 +1 /);
    expect(lines[22]).toMatch(/^… \d+ more lines$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    command.signal('SIGTERM');
    const { code, stdout } = await command.over;
    const after = new Screen(80, 24, stdout);
    expect([after.isCursorShown, after.lines.join('')]).toEqual([true, '']);
    expect(code).toBe(EXIT.ok);
  });

  it.each<[string, (top: OnScreen) => unknown, number]>([
    ['the key q', (top) => top.type('q'), EXIT.ok],
    ['Ctrl+C', (top) => top.type('\u0003'), EXIT.ok],
    ['SIGINT', () => process.emit('SIGINT'), EXIT.ok],
    ['the loss of Redis', () => connect({}, url).call('CLIENT', 'KILL', 'TYPE', 'normal'), EXIT.unreachable],
  ])('gives back the terminal after %s', async (_, end, code) => {
    const top = cliOnScreen(['top', '--every', '60000'], { env });
    await top.shows(/ waiting /);
    expect([top.isRaw, top.screen().isCursorShown]).toEqual([true, false]);
    end(top);
    expect((await top.over).code).toBe(code);
    const { isCursorShown, lines } = top.screen();
    expect([top.isRaw, isCursorShown, lines.join('')]).toEqual([false, true, '']);
  });

  it('moves by the arrows, and shows the verdict on the chosen queue', async () => {
    const top = cliOnScreen(['top', '--every', '60000'], { env });
    await top.shows(/ waiting /);
    top.type(DOWN);
    await top.shows(/^[^]*\n›\S {2}a-queue/);
    top.type(DOWN.repeat(12));
    await top.shows(/^… 7 more above\n[^]*\n›\S {2}a-queue-\S+ /m);
    expect(top.screen().lines.filter((line) => / paused for /.test(line))).toHaveLength(1);
    top.type(UP.repeat(12));
    await top.shows(/failed\n›\S {2}a-queue/);
    top.type('q');
    await top.over;
  });

  it('opens a queue and its errors, and goes back', async () => {
    const queue = new JobQueue(connect({}, url), 'gone');
    await queue.enqueue(1);
    for (const job of await queue.claimMany(1)) await queue.fail(job, new Error('410 Gone'), { final: true });
    const top = cliOnScreen(['top', 'gone', '--every', '60000'], { env });
    await top.shows(/ waiting /);
    top.type('\r');
    await top.shows(/Esc back.*\n[^]*Dead letters of gone[^]*410 Gone/);
    top.type('e');
    await top.shows(/Esc back {2}p pause.*\nDead letters of gone\n\nkind +dead +in 1 h[^]*410 Gone/);
    top.type(LEFT);
    await top.shows(/↑↓ Enter queue/);
    top.type('q');
    expect((await top.over).code).toBe(EXIT.ok);
    await queue.purge({ confirm: 'gone' });
    queue.close();
  });

  it('pauses all shards of a queue', async () => {
    const shards = shardNames('wares', 2).map((name) => new JobQueue(connect({}, url), name));
    await Promise.all(shards.map((shard) => shard.enqueue(1)));
    const top = cliOnScreen(['top', 'wares', '--every', '60000'], { env });
    await top.shows(/ waiting /);
    top.type('p');
    await top.shows(/^Pause wares for the whole fleet\? y\/n$/m);
    top.type('y');
    await top.shows(/^wares paused$/m);
    expect(await Promise.all(shards.map(async (shard) => (await shard.stats()).pausedAt !== null))).toEqual([
      true,
      true,
    ]);
    top.type('q');
    await top.over;
    for (const shard of shards) {
      await shard.purge({ confirm: shard.name, everything: true });
      shard.close();
    }
  });

  it('asks before it pauses a queue, and resumes it', async () => {
    const queue = new JobQueue(connect({}, url), 'shop');
    await queue.enqueue(1);
    const isPaused = async () => (await queue.stats()).pausedAt !== null;
    const top = cliOnScreen(['top', 'shop', '--every', '60000'], { env });
    await top.shows(/ waiting /);
    top.type('p');
    await top.shows(/^Pause shop for the whole fleet\? y\/n$/m);
    top.type('n');
    await top.shows(/^Nothing was changed\.$/m);
    expect(await isPaused()).toBe(false);
    top.type('py');
    await top.shows(/^shop paused\n▲ shop {2}paused/m);
    expect(await isPaused()).toBe(true);
    top.type('p');
    await top.shows(/^Resume shop /m);
    top.type('y');
    await top.shows(/^shop resumed$/m);
    expect(await isPaused()).toBe(false);
    top.type('q');
    await top.over;
    await queue.purge({ confirm: 'shop' });
    queue.close();
  });

  it('walks over the keys once for many looks', async () => {
    const redis = connect({}, url);
    await redis.config('RESETSTAT');
    expect(await cli(['top', '--every', '100', '--count', '4', '--json'], env)).toMatchObject({ code: EXIT.ok });
    const keys = await redis.dbsize();
    expect(keys).toBeLessThan(5_000); // one step of the walk
    expect(await redis.info('commandstats')).toMatch(/^cmdstat_scan:calls=1,/m);
  });

  it('prints the same in JSON as in words', async () => {
    const { stdout } = await cli(['top', '--count', '1', '--json'], env);
    const [first] = Object.values((JSON.parse(stdout) as { queues: object }).queues);
    expect(first).toMatchObject({
      pending: 1,
      rates: null,
      wait: null,
      run: null,
      verdict: { severity: 'warning', state: 'paused', summary: expect.stringContaining('paused') },
    });
  });
});

it.each([[['stats']], [['list', 'a-queue-with-a-long-name-that-says-what-it-is-for-10', 'pending']]])(
  'a table on a terminal of 80 columns of %j wraps nowhere',
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
);
