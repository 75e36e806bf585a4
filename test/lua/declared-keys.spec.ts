// Each key that a script touches is declared, or carries the hash tag of KEYS[1]. All specs that run in memory run on the server
// that checks it, see test/support/memory/declared-keys.ts.
import { expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';
import { DeclaredKeysServer } from '../support/memory/declared-keys.js';

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

it('has scripts to check', () => {
  expect(Object.keys(luaScripts).length).toBeGreaterThan(90);
});
