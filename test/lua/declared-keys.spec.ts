// Each key that a script touches is declared, or carries the hash tag of KEYS[1]. All specs that run in memory run on the server
// that checks it, see test/support/memory/declared-keys.ts.
import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { luaScripts, type LuaScriptName } from '#queue/lua.generated.js';
import { DeclaredKeysServer, hasRun, NOT_IN_MEMORY, scriptOf } from '../support/memory/declared-keys.js';
import { runsInMemory } from '../support/memory/on-memory.mjs';

const server = () => new DeclaredKeysServer(() => 0);

it('refuses a key of another queue that the call did not declare', () => {
  const read = "return redis.call('GET', ARGV[1])";
  expect(() => server().run(read, ['queue:{a}:pending'], ['queue:{b}:pending'])).toThrow(
    /undeclared key: queue:\{b\}/,
  );
  expect(() => server().run(read, [], ['queue:{a}:pending'])).toThrow(/undeclared key/);
  const drop = "return redis.call('UNLINK', KEYS[1], ARGV[1])";
  expect(() => server().run(drop, ['queue:{a}:pending'], ['queue:{b}:pending'])).toThrow(
    /UNLINK of an undeclared key/,
  );
});

it('allows the declared keys, and those of the queue of the first', () => {
  const set = "return redis.call('SET', ARGV[1], 'x')";
  expect(() => server().run(set, ['queue:{a}:pending'], ['queue:{a}:job:1'])).not.toThrow();
  expect(() =>
    server().run("return redis.call('EXISTS', KEYS[2])", ['queue:{a}:x', 'queue:{b}:x'], []),
  ).not.toThrow();
});

/** The specs that `npm test` runs in memory, by their scripts. Each fails there if its script has not run. */
const inMemory = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .map((file) => `test/lua/${file}`)
  .filter((file) => file.endsWith('.spec.ts') && runsInMemory(file))
  .map((file) => scriptOf(`/${file}`));

it('checks each script by its spec in memory, but those that are named with a reason', () => {
  const unchecked = (Object.keys(luaScripts) as LuaScriptName[]).filter((name) => !inMemory.includes(name));
  expect(unchecked.filter((name) => !(name in NOT_IN_MEMORY))).toEqual([]);
});

it('knows a script that has run, alone or inside of another text', () => {
  const { jobCancel } = luaScripts;
  expect(hasRun('jobCancel', [jobCancel])).toBe(true);
  expect(hasRun('jobCancel', [`#!lua\nlocal clock = 1\n${jobCancel.slice(jobCancel.indexOf('\n') + 1)}`])).toBe(
    true,
  );
  expect(hasRun('jobCancel', [luaScripts.jobRemove])).toBe(false);
});
