// The mutants of `npm run mutate`: their changes, and their draw by a seed. Also the order of the tests that run.
import { describe, expect, it } from '@jest/globals';
import { draw, mutantsIn } from './draw.js';
import { luaEdits } from './lua-edits.js';
import { mutantsBy, say } from './mutant.js';
import { suitesOf } from './records.js';

const ROOT = new URL('../../', import.meta.url).pathname;

/** Returns the text after each change that an operator makes. */
function changed(operator: string, text: string): string[] {
  const edits = luaEdits(text).filter((edit) => edit.operator === operator);
  return mutantsBy('a.lua', text, edits).map((mutant) => mutant.text);
}

function record(file: string, seconds: number) {
  return { file, seconds, scripts: ['attemptClaim'], sources: [] };
}

describe('a change of a script', () => {
  it.each<[operator: string, text: string, changed: string[]]>([
    ['drop write', "redis.call('ZADD', key, 1, id)", ['do end']],
    ['drop write', "local at = redis.call('GET', key)", []],
    ['drop call', 'release(id)', ['do end']],
    ['drop call', "redis.call('HSET', key, id, 1)", []],
    [
      'drop wake',
      '--@include lib/core/wake\n--@include lib/core/wake',
      ['\n--@include lib/core/wake', '--@include lib/core/wake\n'],
    ],
    [
      'negate',
      'if a then b() elseif c then d() end',
      ['if not (a) then b() elseif c then d() end', 'if a then b() elseif not (c) then d() end'],
    ],
    ['skip branch', 'if a then b() else c() end', ['if false then b() else c() end']],
    ['other operator', 'return a == b and c', ['return a ~= b and c', 'return a == b or c']],
    ['off by one', 'return a < 2', ['return a <= 2', 'return a < 3']],
    ['swap arguments', "f(from, to, 'x')", ["f(to, from, 'x')"]],
    ['first element only', 'for i = 1, n do f(i) end', ['for i = 1, n do f(i)  break end']],
    ['first element only', 'for i = 1, n do return i end', []],
    [
      'forget clock',
      'return now - started_at > limit',
      ['return 0 - started_at > limit', 'return now - 0 > limit'],
    ],
  ])('%s: %j', (operator, text, expected) => {
    expect(changed(operator, text)).toEqual(expected);
  });

  it('keeps the line of flags', () => {
    expect(changed('off by one', '#!lua flags=no-writes\nreturn 1')).toEqual(['#!lua flags=no-writes\nreturn 2']);
  });
});

describe('a draw', () => {
  it('is the same by the same seed, another by another, and has no mutant twice', async () => {
    const mutants = await mutantsIn(ROOT, 'lua/lib/group');
    const drawn = (seed: number) => draw(mutants, seed, 40).map(say);
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
    expect(new Set(draw(mutants, 1, 40)).size).toBe(40);
  });

  it('gives rare operators the chance of frequent ones', async () => {
    const mutants = await mutantsIn(ROOT, 'lua/lib/group');
    const operators = new Set(mutants.map((mutant) => mutant.operator));
    const drawn = draw(mutants, 1, 200).filter(({ operator }) => operator === 'forget clock');
    expect(operators.size).toBe(10);
    expect(drawn.length).toBe(mutants.filter(({ operator }) => operator === 'forget clock').length);
  });

  it('refuses a place without mutants', async () => {
    await expect(mutantsIn(ROOT, 'docs')).rejects.toThrow('--only: expected a file or folder');
  });
});

describe('the tests of a mutant', () => {
  it('are those that execute it: of its name, of its folder, then the fastest, within two minutes', () => {
    const records = [
      record('test/queue/slow.spec.ts', 60),
      record('test/queue/fast.spec.ts', 1),
      record('test/lua/group/order.spec.ts', 3),
      record('test/lua/group/write-scores.spec.ts', 9),
      record('test/queue/slowest.spec.ts', 80),
      { ...record('test/lua/group/other.spec.ts', 1), scripts: [] },
    ];
    expect(suitesOf(records, 'lua/lib/group/write_scores.lua', ({ scripts }) => scripts.length > 0)).toEqual([
      'test/lua/group/write-scores.spec.ts',
      'test/lua/group/order.spec.ts',
      'test/queue/fast.spec.ts',
      'test/queue/slow.spec.ts',
    ]);
  });
});
