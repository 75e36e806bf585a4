// The mutants of `npm run mutate`: their changes, and their draw by a seed. Also the order of the tests that run, and which
// of them notice a mutant.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { clusterScripts, luaScripts } from '#queue/lua.generated.js';
import { draw, mutantsIn } from './draw.js';
import { firstNoticing, type Repeated } from './first-noticing.js';
import { ExchangedScripts } from './jest/exchanged-scripts.mjs';
import { inMemory } from './jest/jest.config.mjs';
import { scriptDigest } from './jest/script-digest.mjs';
import { luaEdits } from './lua-edits.js';
import { linesReport, markedLua, statementLine } from './lua-lines.js';
import { mutantsBy, say } from './mutant.js';
import { NearestSpecs } from './nearest.js';
import { suitesOf } from './records.js';
import { Results } from './results.js';
import { switchedSource } from './switched-sources.js';
import { changedNames, exchangedScripts } from './texts.js';
import { typescriptEdits } from './typescript-edits.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;

/** Returns the text after each change that an operator makes. */
function changed(operator: string, text: string): string[] {
  const edits = luaEdits(text).filter((edit) => edit.operator === operator);
  return mutantsBy('a.lua', text, edits).map((mutant) => mutant.text);
}

function record(file: string, seconds: number) {
  return { file, seconds, scripts: ['attemptClaim'] };
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
    ['off by one', 'return a < 2', ['return a < 3']],
    ['equality at a bound', 'return a < 2', ['return a <= 2']],
    ['sort key', "redis.call('ZADD', key, score, id)", ["redis.call('ZADD', key, 0, id)"]],
    ['sort key', "redis.call('RPOP', key)", ["redis.call('LPOP', key)"]],
    ['cursor anew', 'page(key, cursor, 100)', ['page(key, 0, 100)']],
    [
      'drop outcome',
      "return s == 'failed' or s == 'cancelled'",
      ["return s == 'cancelled'", "return s == 'failed'"],
    ],
    [
      'drop outcome',
      'local ends = { completed = true, failed = false }',
      ['local ends = { completed = nil, failed = false }'],
    ],
    ['drop outcome', 'return a == b or c', []],
    ['keep fence', "return redis.call('INCR', sequence)", ["return tonumber(redis.call('GET', sequence) or 0)"]],
    ['keep fence', "redis.call('HSET', key, 'fence', 1)", ["redis.call('HSET', key, 'not_fence', 1)"]],
    [
      'part for whole',
      'return name == step',
      [
        'return (string.sub(tostring(name), 1, #tostring(step)) == tostring(step))',
        'return (string.sub(tostring(name), -#tostring(step)) == tostring(step))',
      ],
    ],
    ['part for whole', "return status == 'failed'", []],
    ['part for whole', 'return passed == limit', []],
    ['swap arguments', "f(from, to, 'x')", ["f(to, from, 'x')"]],
    ['swap arguments', 'return math.max(from, to)', []],
    ['swap arguments', "return redis.call('EXISTS', pending, prioritized)", []],
    ['swap arguments', "redis.call('RENAME', from, to)", ["redis.call('RENAME', to, from)"]],
    ['first element only', 'for i = 1, n do f(i) end', ['for i = 1, n do f(i)  break end']],
    ['first element only', 'for i = 1, n do return i end', []],
    [
      'forget clock',
      'return now - started_at > limit',
      ['return 0 - started_at > limit', 'return now - 0 > limit'],
    ],
    ['forget clock', "return due ~= 'inf' and expiry ~= nil", []],
  ])('%s: %j', (operator, text, expected) => {
    expect(changed(operator, text)).toEqual(expected);
  });

  it('keeps the line of flags', () => {
    expect(changed('off by one', '#!lua flags=no-writes\nreturn 1')).toEqual(['#!lua flags=no-writes\nreturn 2']);
  });
});

it.each<[operator: string, text: string, after: string[]]>([
  ['equality at a bound', 'is(a < b + 1);', ['a <= b + 1']],
  ['sort key', 'jobs.toSorted((a, b) => a.at - b.at);', ['() => 0']],
  ['cursor anew', 'page(key, cursor); read({ cursor });', ['undefined', 'cursor: undefined']],
  ['drop outcome', "const ENDS = ['completed', 'failed'];", ["['failed']", "['completed']"]],
  ['drop outcome', "switch (a) { case 'failed': end(); }", ["'none of these'"]],
  ['keep fence', 'const next = fence + 1; this.fence++;', ['fence', 'this.fence']],
  [
    'part for whole',
    'is(job.id !== id);',
    ['!String(job.id).startsWith(String(id))', '!String(job.id).endsWith(String(id))'],
  ],
  ['part for whole', 'is(a === undefined || a.length === b.length);', []],
])('a change of a source %s: %j', async (operator, text, after) => {
  const edits = await typescriptEdits('a.ts', text);
  expect(edits.filter((edit) => edit.operator === operator).map((edit) => edit.after)).toEqual(after);
});

describe('a draw', () => {
  it('is the same by the same seed, another by another, and has no mutant twice', async () => {
    const mutants = await mutantsIn(ROOT, ['lua/lib/group']);
    const drawn = (seed: number) => draw(mutants, seed, 40).map(say);
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
    expect(new Set(draw(mutants, 1, 40)).size).toBe(40);
  });

  it('gives rare operators the chance of frequent ones', async () => {
    const mutants = await mutantsIn(ROOT, ['lua/lib/group']);
    const operators = new Set(mutants.map((mutant) => mutant.operator));
    const drawn = draw(mutants, 1, 200).filter(({ operator }) => operator === 'forget clock');
    expect(operators.size).toBe(14);
    expect(drawn.length).toBe(mutants.filter(({ operator }) => operator === 'forget clock').length);
  });

  it('refuses a place without mutants', async () => {
    await expect(mutantsIn(ROOT, ['docs'])).rejects.toThrow('--only: expected a file, a folder or a line');
  });
});

it('the tests of a mutant are first those of its name, those that noticed others of its file, those of its script, then the fastest', () => {
  const records = [
    record('test/queue/slow.spec.ts', 60),
    record('test/queue/fast.spec.ts', 1),
    record('test/lua/group/turns/order.spec.ts', 3),
    record('test/lua/attempt/claim.spec.ts', 9),
    record('test/lua/group/write-scores.spec.ts', 9),
    record('test/queue/sharp.spec.ts', 9),
    record('test/queue/slowest.spec.ts', 80),
  ];
  const noticed = new Map([['test/queue/sharp.spec.ts', 8]]);
  const scripts = new Set(['attemptClaim']);
  expect(suitesOf(records, 'lua/lib/group/write_scores.lua', scripts, noticed)).toEqual([
    'test/lua/group/write-scores.spec.ts',
    'test/queue/sharp.spec.ts',
    'test/lua/attempt/claim.spec.ts',
    'test/lua/group/turns/order.spec.ts',
    'test/queue/fast.spec.ts',
    'test/queue/slow.spec.ts',
    'test/queue/slowest.spec.ts',
  ]);
});

it('finds the specs of a source by their imports, first those with its name and in its folder', () => {
  const specs = new NearestSpecs(ROOT).of('src/worker/fetch/fetch-loop.ts');
  expect(specs[0]).toMatch(/^test\/worker\/fetch\//);
  expect(specs).toContain('test/nest/lifecycle/start-faults.spec.ts');
  expect(specs).not.toContainEqual(expect.stringMatching(/^test\/(long|browser)\//));
});

/** Returns a source with the mutants of two operators behind switches. */
async function switched(text: string) {
  const mutants = mutantsBy(
    'a.ts',
    text,
    await typescriptEdits('a.ts', text, ['equality at a bound', 'cursor anew']),
  );
  return switchedSource(text, [...mutants.entries()]);
}

const choice = (index: number) => `(globalThis.mutantOfRun?.(${index}) ?? process.env.MUTANT === '${index}')`;

describe('a mutant behind a switch', () => {
  it('stands beside the right text, in an expression or as a property', async () => {
    expect((await switched('const f = (a, b) => a < b;')).text).toBe(
      `const f = (a, b) => (${choice(0)} ? (a <= b) : (a < b));`,
    );
    expect((await switched('const f = (cursor) => read({ cursor });')).text).toBe(
      `const f = (cursor) => read({ cursor: (${choice(0)} ? (undefined) : (cursor)) });`,
    );
  });

  it('is not where its file runs it once, nor within another', async () => {
    expect((await switched('const is = a < b; class A { static is = a < b; @If(a < b) c() {} }')).numbers).toEqual(
      [],
    );
    expect((await switched('class A { is = a < b; }')).numbers).toEqual([0]);
    expect((await switched('const f = () => read(cursor) < 2;')).numbers).toHaveLength(1);
  });
});

/** Returns a run of test files in which the first of these fails. */
const failuresOf = (failing: readonly string[]) => async (files: readonly string[]) => {
  const by = files.find((file) => failing.includes(file));
  return by === undefined ? undefined : { by };
};

describe('a mutant is noticed', () => {
  const FILES = ['first.spec.ts', 'busy.spec.ts', 'sharp.spec.ts'];
  it.each<[which: string, repeated: Record<string, Repeated>, by: string | undefined]>([
    ['by a test that passes without it', { 'busy.spec.ts': 'passes' }, 'busy.spec.ts'],
    [
      'by a test behind one that fails without it too',
      { 'busy.spec.ts': 'fails', 'sharp.spec.ts': 'passes' },
      'sharp.spec.ts',
    ],
    ['by no test that fails without it too', { 'busy.spec.ts': 'fails', 'sharp.spec.ts': 'fails' }, undefined],
  ])('%s', async (_, repeated, by) => {
    const run = failuresOf(Object.keys(repeated));
    expect((await firstNoticing(FILES, 60_000, run, async (file) => repeated[file]!))?.by).toBe(by);
  });

  it('by a test that failed also in a process of earlier mutants, and fails again in a new one', async () => {
    const repeats: Repeated[] = ['passes in a new process', 'passes'];
    const failure = await firstNoticing(FILES, 60_000, failuresOf(['busy.spec.ts']), async () => repeats.shift()!);
    expect([failure?.by, repeats]).toEqual(['busy.spec.ts', []]);
  });

  it('by no test that fails only once', async () => {
    const failing = ['busy.spec.ts', 'sharp.spec.ts'];
    const run = async (files: readonly string[]) => {
      const by = files.find((file) => failing.includes(file));
      if (by === 'busy.spec.ts') failing.shift();
      return by === undefined ? undefined : { by };
    };
    expect((await firstNoticing(FILES, 60_000, run, async () => 'passes'))?.by).toBe('sharp.spec.ts');
  });

  it('by no test that begins after its time', async () => {
    expect(await firstNoticing(FILES, 0, failuresOf(FILES), async () => 'passes')).toBeUndefined();
  });

  it('by no spec in memory whose only fault is that its script has another text', () => {
    expect(inMemory.testEnvironmentOptions.env).toMatchObject({ TEST_REDIS: 'memory', TEST_IS_PART: '1' });
  });

  it('by a limit, without a repeat', async () => {
    let repeats = 0;
    const repeat = async (): Promise<Repeated> => (repeats++, 'fails');
    const failure = await firstNoticing(FILES, 60_000, async () => ({ by: '120 s' }), repeat);
    expect([failure?.by, repeats]).toEqual(['120 s', 0]);
  });
});

describe('a mutant of the text for a Cluster only', () => {
  const right = { scripts: luaScripts, clusterScripts };
  const text = `${clusterScripts.attemptClaim}return 1\n`;
  const mutated = { ...right, clusterScripts: { ...clusterScripts, attemptClaim: text } };

  it('is put in the place of that text, also within the audit trail', () => {
    const exchanged = exchangedScripts(right, mutated);
    expect(exchanged).toContainEqual([clusterScripts.attemptClaim, text]);
    expect(exchanged.filter(([, each]) => each.endsWith('return 1\n'))).toHaveLength(2);
    expect(exchanged).toHaveLength(3);
  });

  it('needs a test that sent that text', () => {
    expect([...changedNames(right, mutated)]).toEqual(['attemptClaim in a Cluster']);
  });
});

/** Sends a command. Returns its script as it was sent. */
function sent(scripts: ExchangedScripts, name: string, script: string): unknown {
  const command = { name, args: [script, '0'] };
  scripts.exchange(command);
  return command.args[0];
}

describe('a changed script is sent', () => {
  const RIGHT = '#!lua flags=allow-oom\nlocal time = 1\nreturn time\n';
  const CHANGED = '#!lua flags=allow-oom\nlocal time = 2\nreturn time\n';
  const exchanged = () => new ExchangedScripts([[RIGHT, CHANGED]]);

  it('for the right one, by text and by digest', () => {
    const scripts = exchanged();
    expect(sent(scripts, 'eval', RIGHT)).toBe(CHANGED);
    expect(sent(scripts, 'evalsha', scriptDigest(RIGHT))).toBe(scriptDigest(CHANGED));
    expect(scripts.isSent).toBe(true);
  });

  it.each([
    ['behind a clock of a test', 'local clock = 3\n', ''],
    ['within a function of a test', 'local function script()\n', 'end\nscript()\n'],
  ])('%s, then by the digest of that text', (_, before, after) => {
    const [flags, rest] = RIGHT.split(/(?<=allow-oom\n)/) as [string, string];
    const around = (script: string) => flags + before + script + after;
    const scripts = exchanged();
    expect(sent(scripts, 'eval', around(rest))).toBe(around('local time = 2\nreturn time\n'));
    expect(sent(scripts, 'evalsha', scriptDigest(around(rest)))).toBe(
      scriptDigest(around('local time = 2\nreturn time\n')),
    );
  });

  it('for no other script', () => {
    const scripts = exchanged();
    const other = '#!lua flags=allow-oom\nreturn 1\n';
    expect(sent(scripts, 'eval', other)).toBe(other);
    expect(sent(scripts, 'evalsha', scriptDigest(other))).toBe(scriptDigest(other));
    expect(scripts.isSent).toBe(false);
  });
});

describe('the results of a run', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'mutants-')), 'results.jsonl');

  it('are kept for the run that goes on', () => {
    const results = new Results(file);
    const ran = { seconds: 1, ran: 1, leftOut: 0 };
    results.add({ index: 0, mutant: 'a.lua:1 negate: a => b', by: 'a.spec.ts', ...ran });
    results.add({ index: 1, mutant: 'a.lua:2 negate: a => b', ...ran });
    const later = new Results(file);
    expect(later.of(0, 'a.lua:1 negate: a => b')?.by).toBe('a.spec.ts');
    expect(later.of(1, 'a.lua:2 negate: a => b')).toMatchObject({ index: 1 });
    expect(later.of(2, 'a.lua:3 negate: a => b')).toBeUndefined();
    expect([...later.noticedIn('a.lua')]).toEqual([['a.spec.ts', 1]]);
  });

  it('are of the same sources', () => {
    expect(() => new Results(file).of(0, 'a.lua:9 negate: a => b')).toThrow('The sources have changed');
  });
});

it('lets each statement of a script name its line', () => {
  const text = '#!lua\nif a then\n  local b = 1\nend\nreturn b';
  expect(markedLua('lua/a.lua', text).split('\n')).toEqual([
    '#!lua',
    "redis.sha1hex('@lua/a.lua:2')",
    'if a then',
    "  redis.sha1hex('@lua/a.lua:3')",
    '  local b = 1',
    'end',
    "redis.sha1hex('@lua/a.lua:5')",
    'return b',
  ]);
});

it.each([
  ['a > 1', 1],
  ['b > 2', 1],
  ['c()', 2],
  ['end', 1],
  ['-- wake', 1],
])('finds the line of the statement that holds %j', (part, line) => {
  const text = 'if a > 1 then\n  c()\n  -- wake\nelseif b > 2 then\n  d()\nend';
  expect(statementLine('a.lua', text, text.indexOf(part))).toBe(`a.lua:${line}`);
});

it('reports the lines that no spec reaches, by room', () => {
  const lines = new Map([
    ['lua/job/cancel.lua:1', true],
    ['lua/job/cancel.lua:2', false],
  ]);
  const report = linesReport(ROOT, lines);
  expect(report).toContain('| lua/job | 2 | 1 | 1 |');
  expect(report).toMatch(/^lua\/job\/cancel\.lua:2 /m);
});
