// Commands reply in memory as they do on Redis: whole sequences of them, each in one script.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ARITY } from '#memory/server/commands.js';
import { scriptCommands } from '#queue/digests.generated.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import fc from '../../support/queue/properties.js';
import { differences, sent } from './both-runners.js';

let redis: Redis;
beforeAll(() => {
  redis = connect();
});
const key = uniqueQueueName();

/** The functions through which replies pass that differ by chance: in the order of their items, or by a ms. */
const SHOWN_BY: Readonly<Record<string, string>> = { HKEYS: 'sorted', HGETALL: 'sorted', PTTL: 'rounded' };

/** Expects the same replies to sequences of commands. Each command is a line of words, with KEY for the key. */
async function expectSame(sequences: readonly (readonly string[][])[]): Promise<void> {
  const expressions = sequences.flatMap((commands) =>
    [['UNLINK', 'KEY'], ...commands].map((words) => `${SHOWN_BY[words[0]!] ?? ''}(${sent(...words)})`),
  );
  expect(await differences(redis, key, expressions)).toEqual([]);
}

/** Returns the words of commands that are written as lines. `''` is an empty word. */
function lines(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) =>
      line
        .trim()
        .split(' ')
        .map((word) => (word === "''" ? '' : word)),
    );
}

it('have the number of arguments that COMMAND INFO says', async () => {
  const known = Object.entries(ARITY);
  const infos = (await redis.command('INFO', ...known.map(([name]) => name))) as [string, number][];
  expect(infos.map(([name, arity]) => [name.toUpperCase(), arity])).toEqual(known);
});

it('are all that scripts send', () => {
  expect(Object.keys(ARITY)).toEqual(expect.arrayContaining(scriptCommands.map((name) => name.toUpperCase())));
});

describe('commands', () => {
  it('agree on keys', () =>
    expectSame([
      lines(`EXISTS KEY
        SET KEY a
        TYPE KEY
        EXISTS KEY KEY
        PTTL KEY
        PEXPIRE KEY 1000
        PTTL KEY
        PEXPIRE KEY 500 GT
        PEXPIRE KEY 2000 GT
        PEXPIRE KEY 3000 LT
        PEXPIRE KEY 100 NX
        PEXPIRE KEY 1500 XX
        PTTL KEY
        PEXPIRE KEY 100 NX XX
        PEXPIRE KEY 100 GT LT
        PEXPIRE KEY 100 FOO
        PEXPIRE KEY x
        PERSIST KEY
        PERSIST KEY
        PEXPIRE KEY 100 GT
        PEXPIRE KEY 100 LT
        PEXPIRE KEY 10000
        PTTL KEY
        PEXPIREAT KEY 99999999999999
        PEXPIRE KEY -1
        EXISTS KEY
        PTTL KEY
        PERSIST KEY
        PEXPIRE KEY 100
        TYPE KEY
        UNLINK KEY`),
      lines(`HSET KEY a 1
        GET KEY
        LLEN KEY
        ZADD KEY 1 a
        INCR KEY
        SET KEY x
        HGET KEY a
        LPUSH KEY a
        XADD KEY * a b
        EXISTS KEY`),
    ]));

  it('agree on texts', () =>
    expectSame([
      lines(`GET KEY
        SET KEY a NX
        SET KEY b NX
        SET KEY c XX
        GET KEY
        SET KEY d PX 1000
        PTTL KEY
        SET KEY e KEEPTTL
        PTTL KEY
        SET KEY f EX 5
        PTTL KEY
        PTTL KEY
        SET KEY h PX 0
        SET KEY h PX
        SET KEY h PX x
        SET KEY h NX XX
        SET KEY h PX 5 EX 5
        SET KEY h FOO
        SET KEY h PXAT 99999999999999
        INCR KEY
        GET KEY`),
      lines(`INCR KEY
        INCRBY KEY 5
        INCRBY KEY -10
        INCRBY KEY 1.5
        INCRBY KEY 9007199254740993
        GET KEY
        SET KEY 9223372036854775807
        INCR KEY
        SET KEY 05
        INCR KEY
        SET KEY ''
        INCR KEY
        SET KEY -0
        INCR KEY`),
    ]));

  it('agree on hashes', () =>
    expectSame([
      lines(`HSET KEY a 1 b 2
        HSET KEY a 3 c 4
        HGET KEY a
        HGET KEY x
        HMGET KEY a x b
        HLEN KEY
        HEXISTS KEY a
        HEXISTS KEY x
        HSTRLEN KEY a
        HSTRLEN KEY x
        HSETNX KEY a 9
        HSETNX KEY d 9
        HKEYS KEY
        HGETALL KEY
        HINCRBY KEY a 5
        HINCRBY KEY n -5
        HINCRBY KEY a 1.5
        HINCRBY KEY a x
        HSET KEY t text
        HINCRBY KEY t 1
        HINCRBY KEY big 9223372036854775807
        HINCRBY KEY big 1
        HGET KEY big
        HDEL KEY a x b
        HDEL KEY c d n t big
        EXISTS KEY
        HGETALL KEY
        HMGET KEY a b
        HDEL KEY a
        HINCRBY KEY a x
        EXISTS KEY`),
      lines(`HRANDFIELD KEY
        HRANDFIELD KEY 5
        HSET KEY a 1
        HRANDFIELD KEY
        HRANDFIELD KEY 3
        HRANDFIELD KEY -3
        HRANDFIELD KEY 1 WITHVALUES
        HRANDFIELD KEY 1 FOO
        HRANDFIELD KEY x
        HRANDFIELD KEY 0
        HSCAN KEY 0
        HSCAN KEY 0 COUNT 10
        HSCAN KEY 0 MATCH b*
        HSCAN KEY 0 FOO 1
        HSCAN KEY x`),
    ]));

  it('agree on lists', () =>
    expectSame([
      lines(`LLEN KEY
        RPOP KEY
        RPOP KEY 2
        LPUSH KEY a b c
        RPUSH KEY d
        LRANGE KEY 0 -1
        LRANGE KEY 1 2
        LRANGE KEY -2 -1
        LRANGE KEY 5 9
        LRANGE KEY 2 1
        LRANGE KEY -9 9
        LRANGE KEY x 1
        LINDEX KEY 0
        LINDEX KEY -1
        LINDEX KEY 9
        LINDEX KEY x
        RPOP KEY
        LPOP KEY
        RPOP KEY 0
        RPOP KEY -1
        RPOP KEY 1
        LPOP KEY 9
        EXISTS KEY
        LRANGE KEY 0 -1`),
      lines(`RPUSH KEY a b a c a b a
        LPOS KEY a
        LPOS KEY x
        LPOS KEY a RANK 2
        LPOS KEY a RANK -1
        LPOS KEY a RANK 0
        LPOS KEY a COUNT 0
        LPOS KEY a COUNT 2
        LPOS KEY a COUNT 2 RANK -2
        LPOS KEY a COUNT 0 MAXLEN 3
        LPOS KEY b MAXLEN 1
        LPOS KEY a COUNT -1
        LPOS KEY a MAXLEN -1
        LPOS KEY x COUNT 0
        LPOS KEY a FOO 1
        LPOS KEY a RANK
        LSET KEY 1 z
        LSET KEY -1 y
        LSET KEY 99 z
        LSET KEY -99 z
        LSET KEY x z
        LSET missing 0 z
        LREM KEY 1 a
        LRANGE KEY 0 -1
        LREM KEY -1 a
        LRANGE KEY 0 -1
        LREM KEY 0 a
        LREM KEY 0 x
        LREM KEY 2 b
        LREM KEY x b
        LRANGE KEY 0 -1
        LREM KEY -2 c
        EXISTS KEY
        LREM KEY 1 a
        LPOS KEY a COUNT 1`),
    ]));

  it('agree on sorted sets', () =>
    expectSame([
      lines(`ZADD KEY 1 a 2 b 3 c
        ZADD KEY 1 a 5 b 4 d
        ZADD KEY CH 2 a 9 e
        ZADD KEY NX 7 a 7 f
        ZADD KEY XX 8 a 8 g
        ZADD KEY XX CH 9 a
        ZADD KEY GT 1 a
        ZADD KEY GT CH 10 a
        ZADD KEY LT CH 3 a 2 h
        ZADD KEY NX XX 1 a
        ZADD KEY GT LT 1 a
        ZADD KEY NX GT 1 a
        ZADD KEY x a
        ZADD KEY nan a
        ZADD KEY 1 a 2
        ZADD KEY inf i -inf j 1e3 k 0x10 l 1.5 m
        ZRANGE KEY 0 -1 WITHSCORES
        ZRANGE KEY 0 -1
        ZRANGE KEY 1 3
        ZRANGE KEY -2 -1
        ZRANGE KEY 0 1 REV
        ZRANGE KEY 0 -1 REV WITHSCORES
        ZRANGE KEY 2 5 BYSCORE
        ZRANGE KEY (2 5 BYSCORE WITHSCORES
        ZRANGE KEY 2 (5 BYSCORE
        ZRANGE KEY -inf +inf BYSCORE LIMIT 1 2
        ZRANGE KEY -inf +inf BYSCORE LIMIT 1 -1
        ZRANGE KEY -inf +inf BYSCORE LIMIT 90 2
        ZRANGE KEY -inf +inf BYSCORE LIMIT -1 2
        ZRANGE KEY -inf +inf BYSCORE LIMIT 0 0
        ZRANGE KEY +inf -inf BYSCORE REV LIMIT 1 2
        ZRANGE KEY 5 2 BYSCORE REV
        ZRANGE KEY 5 2 BYSCORE
        ZRANGE KEY 0 -1 LIMIT 0 1
        ZRANGE KEY 0 -1 FOO
        ZRANGE KEY x -1
        ZRANGE KEY x 5 BYSCORE
        ZSCORE KEY a
        ZSCORE KEY x
        ZMSCORE KEY a x b
        ZCARD KEY
        ZCOUNT KEY -inf +inf
        ZCOUNT KEY (2 (5
        ZCOUNT KEY x 5
        ZINCRBY KEY 1.5 a
        ZINCRBY KEY 1 z
        ZINCRBY KEY x a
        ZINCRBY KEY -inf i
        ZREM KEY a x b
        ZREMRANGEBYRANK KEY 0 1
        ZREMRANGEBYSCORE KEY 5 9
        ZREMRANGEBYSCORE KEY (1 (2
        ZRANGE KEY 0 -1 WITHSCORES
        ZPOPMIN KEY
        ZPOPMIN KEY 2
        ZPOPMIN KEY 0
        ZPOPMIN KEY -1
        ZPOPMIN KEY x
        ZREMRANGEBYRANK KEY 0 -1
        EXISTS KEY
        ZPOPMIN KEY
        ZRANGE KEY 0 -1
        ZMSCORE KEY a
        ZREMRANGEBYSCORE KEY 1 2
        ZADD KEY XX 1 a
        EXISTS KEY
        ZSCAN KEY 0`),
      lines(`ZADD KEY 1 a 1 B 1 b 1 ab 1 '' 1 ä
        ZRANGE KEY 0 -1
        ZSCAN KEY 0 MATCH a* COUNT 100
        ZSCAN KEY 0 FOO
        ZSCAN KEY x`),
      lines(`ZADD KEY 1893456072452 a 0.1 b 1e15 c 123456789.123 d 1e17 e -0 f
        ZRANGE KEY 0 -1 WITHSCORES
        ZINCRBY KEY 0.2 b
        ZSCORE KEY e`),
    ]));

  it('agree on streams', () =>
    expectSame([
      lines(`XADD KEY 1-1 a b
        XADD KEY 1-1 a b
        XADD KEY 0-0 a b
        XADD KEY 1-* c d e f
        XADD KEY 2 g h
        XADD KEY x g h
        XLEN KEY
        XRANGE KEY - +
        XRANGE KEY 1 1
        XRANGE KEY (1-1 +
        XRANGE KEY - (2-0
        XRANGE KEY - + COUNT 1
        XRANGE KEY - + COUNT 0
        XRANGE KEY - + FOO 1
        XRANGE KEY x +
        XREVRANGE KEY + - COUNT 2
        XREVRANGE KEY 1 -
        XADD KEY MAXLEN 2 3 i j
        XADD KEY MAXLEN = 2 4 i j
        XADD KEY MINID 4 5 i j
        XADD KEY MAXLEN x 6 i j
        XADD KEY MAXLEN -1 6 i j
        XRANGE KEY - +
        XADD KEY NOMKSTREAM 9 k l
        UNLINK KEY
        XADD KEY NOMKSTREAM 9 k l
        XLEN KEY
        XRANGE KEY - +`),
      lines(`XGROUP CREATE KEY g 0
        XADD KEY 1-1 a b
        XADD KEY 2-1 c d
        XADD KEY 3-1 e f`),
    ]));
});

/** Draws some words, or none. */
function optional(...words: string[][]): fc.Arbitrary<string[]> {
  return fc.constantFrom<string[]>([], [], ...words);
}

function command(name: string, ...parts: fc.Arbitrary<string | string[]>[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts).map((found) => [name, 'KEY', ...found.flat()]);
}

describe('commands that are drawn', () => {
  const member = fc.constantFrom('a', 'b', 'c', '', '\xff');
  const number = fc.constantFrom('0', '1', '-1', '2', '5', '1.5', '-2', 'x', '100', '3000000000', '0.1');
  const bound = fc.constantFrom('-inf', '+inf', '0', '1', '(1', '2', '(2', 'x', '-1', '-2');
  const list = [
    command('LPUSH', member),
    command('RPUSH', member, member),
    command('LPOP', optional(['1'], ['2'])),
    command('RPOP', optional(['1'], ['3'])),
    command('LREM', number, member),
    command('LRANGE', number, number),
    command('LINDEX', number),
    command('LSET', number, member),
    command('LPOS', member, optional(['RANK', '2'], ['COUNT', '0'], ['RANK', '-1', 'COUNT', '2'], ['MAXLEN', '2'])),
    command('LLEN'),
  ];
  const hash = [
    command('HSET', member, member),
    command('HSET', member, number, member, number),
    command('HDEL', member),
    command('HINCRBY', member, number),
    command('HSETNX', member, number),
    command('HMGET', member, member),
    command('HGETALL'),
    command('HLEN'),
    command('HSTRLEN', member),
  ];
  const flags = optional(['NX'], ['XX'], ['GT'], ['LT'], ['CH'], ['XX', 'CH'], ['GT', 'CH']);
  const range = optional(['WITHSCORES'], ['BYSCORE'], ['BYSCORE', 'LIMIT', '1', '2'], ['REV'], ['BYSCORE', 'REV']);
  const zset = [
    command('ZADD', flags, number, member),
    command('ZADD', number, member, number, member),
    command('ZINCRBY', number, member),
    command('ZREM', member),
    command('ZPOPMIN', optional(['2'])),
    command('ZRANGE', bound, bound, range),
    command('ZCOUNT', bound, bound),
    command('ZREMRANGEBYSCORE', bound, bound),
    command('ZREMRANGEBYRANK', number, number),
    command('ZSCORE', member),
  ];
  const text = [
    command('SET', number, optional(['NX'], ['XX'], ['PX', '1000'], ['KEEPTTL'])),
    command('GET'),
    command('INCRBY', number),
    command('PEXPIRE', number, optional(['NX'], ['GT'], ['LT'])),
    command('PTTL'),
    command('PERSIST'),
    command('EXISTS'),
    command('UNLINK'),
    command('TYPE'),
  ];

  it.each([
    ['lists', list],
    ['hashes', hash],
    ['sorted sets', zset],
    ['texts and lifetimes', text],
    ['all types', [...list, ...hash, ...zset, ...text]],
  ])('agree on %s', (_, commands) =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.oneof(...commands), { minLength: 1, maxLength: 25 }), { minLength: 1, maxLength: 20 }),
        expectSame,
      ),
      { numRuns: 25 },
    ),
  );
});
