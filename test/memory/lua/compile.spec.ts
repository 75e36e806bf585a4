// The compiler of scripts: what it refuses, and what it keeps between runs.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { compileLua } from '#memory/lua/compile.js';
import { scriptFactory, ScriptServer } from '#memory/server/script-server.js';
import { drawnDialect, shortest, shortestArgument } from '#memory/lua/numbers.js';
import { LuaTable } from '#memory/lua/values.js';
import { checkCommand } from '#memory/server/commands.js';
import { Random } from '../../../tools/chaos/random.js';

const server = () => new ScriptServer(() => 1_893_456_000_000);

function run(text: string, keys: string[] = [], args: string[] = [], on = server()): unknown {
  const value = on.run(text, keys, args);
  return value instanceof LuaTable ? value.items : value;
}

describe('a construct outside of the subset', () => {
  it.each([
    ['repeat until true', '"repeat"'],
    ['goto there', '"name" in place of'],
    ['local t = {} t:x()', 'the character :'],
    ['x = 1', 'an assignment to the global x'],
    ['return x', 'the global x'],
    ['x()', 'the function x'],
    ['function f() end', 'an assignment to the global f'],
    ['for k in next, {} do end', 'an iterator of several values'],
    ['for k in g do end', 'an iterator other than'],
    ['return coroutine.create(g)', 'the function coroutine.create'],
    ['return string.dump(g)', 'the function string.dump'],
    ['return string.reverse', 'string.reverse'],
    ['return os.time()', 'the function os.time'],
    ['return tonumber("10", 16)', 'tonumber of two values'],
    ['return setmetatable({}, { __call = 1 })', 'a metatable with more than __index'],
    ['return string.match(y, "%b()")', '%b'],
    ['return string.match(y, "()")', 'a position capture'],
    ['return string.match(y, "%f[%a]")', '%f'],
    ['return string.match(y, "(a)%1")', '%1'],
    ['return string.match(y, "[%W]")', '%W in a set'],
    ['for a in string.gmatch("a", "^a") do end', 'the anchor'],
    ['return string.format("%q", 1)', 'the conversion %q'],
    ['return string.format("%", 1)', 'the format'],
    ['return redis.call("HGET", "k")', 'the command HGET with 1 arguments'],
    ['return redis.call("HGET", "k", "f", "x")', 'the command HGET with 3 arguments'],
    ['return redis.call("FLUSHALL")', 'the command FLUSHALL'],
    ['return redis.breakpoint()', 'the function redis.breakpoint'],
    ['return cjson.null', 'cjson.null'],
    ['return ...', '"..." outside'],
    ['return [[a]]', '"[" in place of'],
    ['--[[ a ]] return 1', 'a long comment'],
    ['return "a\nb"', 'a text without its end'],
    ['return g "a"', 'a call without parentheses'],
    ['return 1 & 2', 'the character &'],
  ])('%s', (text, what) => {
    expect(() => compileLua(`local y, g\n${text}`, checkCommand)).toThrow(
      expect.objectContaining({ line: expect.any(Number), message: expect.stringContaining(what) }),
    );
  });

  it('has the line of the text', () => {
    const text = '#!lua flags=allow-oom\nlocal a = 1\n\nif a then\n  b()\nend';
    expect(() => compileLua(text, checkCommand)).toThrow('line 5: the function b');
  });
});

/** A function around a script, which has a function of its own. */
const INNER = `local function script()
  local own = 0
  local function add() own = own + 1 return own end
  n = n + add() + add()
end`;

/** Runs a script by a drawn version of Redis. Returns a number as an argument, a score, and the keys of a table. */
function drawn(seed: number): [argument: string, score: string, keys: string] {
  const random = new Random(seed);
  const text = `
    local keys = {}
    for key in pairs({ a = 1, b = 2, c = 3, d = 4 }) do keys[#keys + 1] = key end
    redis.call('SET', KEYS[1], 0.1)
    redis.call('ZADD', KEYS[2], 1700000000000, 'm')
    return { redis.call('GET', KEYS[1]), redis.call('ZSCORE', KEYS[2], 'm'), table.concat(keys) }`;
  const on = new ScriptServer(() => 0, { dialect: drawnDialect(() => random.next()) });
  return run(text, ['k', 'z'], [], on) as [string, string, string];
}

describe('a run', () => {
  it('leaves nothing to the next run', () => {
    const on = server();
    const text = `
      local count, list, unset = 0, {}
      local function add(x) count = count + 1 list[#list + 1] = x unset = x end
      if ARGV[1] == '1' then local once = 1 add(once) end
      local later
      do local inner = 0 function later() inner = inner + 1 return inner end end
      add(later())
      return { count, #list, later(), unset or 'none', #KEYS }`;
    expect(run(text, [], ['1'], on)).toEqual([2, 2, 2, 1, 0]);
    expect(run(text, ['k'], [], on)).toEqual([1, 1, 2, 1, 1]);
  });

  it('makes each closure of a loop anew', () => {
    const text =
      'local fs = {} for i = 1, 2 do local n = 0 fs[i] = function() n = n + i return n end end fs[1]() return { fs[1](), fs[2]() }';
    expect(run(text)).toEqual([2, 2]);
  });

  it('sees a function that has no value yet as nil', () => {
    expect(() => run('local f if false then function f() end end return f()')).toThrow(
      'attempt to call a nil value',
    );
  });

  it('keeps apart what a script called once and a script called twice hold', () => {
    const texts = ['script()', 'script() script()'].map((calls) => `local n = 0 ${INNER} ${calls} return n`);
    expect(texts.map((text) => run(text))).toEqual([3, 6]);
  });

  it('is the same in the audit frame', () => {
    const text = `
      local server = redis
      local redis = setmetatable({ call = function(...) return server.call(...) end }, { __index = server })
      local function script() return redis.call('SET', KEYS[1], 'v') end
      local reply = script()
      return { reply.ok, server.call('GET', KEYS[1]), redis.sha1hex('') }`;
    expect(run(text, ['k'])).toEqual(['OK', 'v', 'da39a3ee5e6b4b0d3255bfef95601890afd80709']);
  });
});

describe('an error', () => {
  it('of a command is a reply that a script may catch', () => {
    expect(
      run(
        'redis.call("SET", KEYS[1], "v") return { redis.pcall("HGET", KEYS[1], "f").err, (pcall(redis.call, "HGET", KEYS[1], "f")) }',
        ['k'],
      ),
    ).toEqual(['WRONGTYPE Operation against a key holding the wrong kind of value', false]);
    expect(() => run('return redis.call("HGET", KEYS[1], nil)', ['k'])).toThrow(
      'Lua redis lib command arguments must be strings or integers',
    );
    expect(run('local name = "HGET" return redis.pcall(name, "k").err')).toBe(
      "ERR wrong number of arguments for 'hget' command",
    );
    expect(run('local name = "FLUSHALL" return redis.pcall(name).err')).toBe("ERR unknown command 'FLUSHALL'");
    expect(run('local none = {} return redis.pcall("HMGET", "k", unpack(none)).err')).toBe(
      "ERR wrong number of arguments for 'hmget' command",
    );
  });

  it('of the runner is none of Lua, so no script catches it', () => {
    const on = new ScriptServer(() => {
      throw new TypeError('a fault');
    });
    expect(() => run('return { pcall(redis.call, "TIME"), redis.pcall("TIME") }', [], [], on)).toThrow(TypeError);
    expect(() => run('return { pcall(string.match, "a", "%" .. "b()") }')).toThrow('not in the subset of Lua');
  });

  it('leaves what the script has written, and the next step sees the time of then', () => {
    let now = 1_000;
    const on = new ScriptServer(() => now);
    expect(() => run('redis.call("SET", KEYS[1], "v", "PX", "10") error("cut")', ['k'], [], on)).toThrow('cut');
    now = 1_009;
    expect(run('return redis.call("GET", KEYS[1])', ['k'], [], on)).toBe('v');
    now = 1_010;
    expect(run('return redis.call("GET", KEYS[1])', ['k'], [], on)).toBe(false);
  });
});

it('the time of a step stands', () => {
  let now = 1_000;
  const on = new ScriptServer(() => now++);
  const text = 'local a, b = redis.call("TIME"), redis.call("TIME") return { a[1], a[2], b[2] }';
  expect(run(text, [], [], on)).toEqual(['1', '0', '0']);
});

describe('what versions of Redis do differently', () => {
  it('is drawn by a seed', () => {
    const all = Array.from({ length: 20 }, (_, seed) => drawn(seed));
    expect(all).toEqual(Array.from({ length: 20 }, (_, seed) => drawn(seed)));
    expect(new Set(all.map(([argument]) => argument))).toEqual(new Set(['0.10000000000000001', '0.1']));
    expect(new Set(all.map(([, score]) => score))).toEqual(new Set(['1700000000000', '1.7e+12']));
    expect(new Set(all.map(([, , keys]) => keys)).size).toBeGreaterThan(5);
  });

  it.each([
    [100_000_000, '1e+8', '100000000'],
    [1.5, '1.5', '1.5'],
    [-0.000_001, '-0.000001', '-0.000001'],
    [1e-7, '1e-7', '1e-7'],
    [123_456_789_012, '123456789012', '123456789012'],
    [1e17, '1e+17', '100000000000000000'],
    [1e19, '1e+19', '1e+19'],
    [Infinity, 'inf', 'inf'],
  ])('%d is %s as a score of Redis 7.2, and %s as an argument', (number, score, argument) => {
    expect([shortest(number), shortestArgument(number)]).toEqual([score, argument]);
  });
});

it('a script is compiled once in a process', () => {
  const text = 'return 1';
  expect(scriptFactory(text, 'one', checkCommand)).toBe(scriptFactory(text, 'other', checkCommand));
});

it('scripts run where the process may make no code from texts', () => {
  const root = join(import.meta.dirname, '../../..');
  const program = `
    const { ScriptServer } = await import('./src/memory/server/script-server.ts');
    process.stdout.write(String(new ScriptServer(() => 0).run('return 1 + 1', [], [])));
    try { new Function('return 1')(); } catch (error) { process.stdout.write(error.name); }`;
  const flags = [
    '--disallow-code-generation-from-strings',
    '--import',
    './tools/chaos/register.mjs',
    '--input-type=module',
  ];
  expect(execFileSync(process.execPath, [...flags, '-e', program], { cwd: root, encoding: 'utf8' })).toBe(
    '2EvalError',
  );
});
