// Numbers that scripts hand to Redis as whole numbers are texts. Redis 7.2 and 7.4 write a number of Lua with eight zeros
// at its end as 3e+8. PEXPIRE refuses that, and the script breaks off after half of its writes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../lua');
const lines = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.lua'))
  .flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .map((line) => ({ file, line })),
  );

/** Names whose values are texts, or constants with few zeros. Each has its declaration in the same script. */
const TEXTS = new Set(
  'counted_until early_ms evicted_ttl evicted_until expiry keep kept latest memory_ms nudge_ms record_ms result_ttl stay ttl'.split(
    ' ',
  ),
);

/** Returns the lifetimes of calls, such as `evicted_ttl` of PEXPIRE. */
function lifetimesIn(line: string): string[] {
  const calls = [
    ...line.matchAll(/redis\.p?call\('PEXPIRE(?:AT)?', [^,]+, (\w+\(.+\)|[^,)]+)/g),
    ...line.matchAll(/redis\.p?call\('SET', .*'PX(?:AT)?', (\w+)/g),
  ];
  return calls.map(([, lifetime]) => lifetime!);
}

function isText(expression: string): boolean {
  return /^(\d{1,8}|ARGV\[\d+\]|'\d+'|string\.format\('%(d|\.0f)'.*|lifetime_of\(.*|kept_until_of\[i\])$/.test(
    expression,
  );
}

/** Returns whether Redis gets a text, or one of two texts. */
function isAllowed(lifetime: string): boolean {
  return isText(lifetime) || lifetime.split(' or ').every((each) => TEXTS.has(each.trim()) || isText(each.trim()));
}

it('gives each lifetime to Redis as a text', () => {
  const found = lines.flatMap(({ file, line }) => lifetimesIn(line).map((lifetime) => ({ file, lifetime })));
  expect(found.length).toBeGreaterThan(20);
  expect(found.filter(({ lifetime }) => !isAllowed(lifetime))).toEqual([]);
});

it('stores each fence as a text of digits', () => {
  const stored = lines.filter(({ line }) => /'HSET(NX)?'.*redis\.call\('INCR'/.test(line));
  expect(stored.length).toBeGreaterThan(2);
  const bare = stored.filter(
    ({ line }) => !/string\.format\('%d', redis\.call\('INCR'|redis\.call\('INCR', sequence\) \.\./.test(line),
  );
  expect(bare).toEqual([]);
});
