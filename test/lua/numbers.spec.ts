// Numbers that scripts hand to Redis as whole numbers are texts. Redis 7.2 and 7.4 write a number of Lua with eight zeros
// at its end as 3e+8. PEXPIRE refuses that, and the script breaks off after half of its writes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../lua');
const scripts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.lua'))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
const lines = scripts.flatMap(({ file, text }) => text.split('\n').map((line) => ({ file, line })));

/** Names whose values are texts, or constants with few zeros. Each has its declaration in the same script. */
const TEXTS = new Set(
  'counted_until dedup_ms early_ms evicted_ttl evicted_until expiry keep kept lasts latest left memory_ms nudge_ms record_ms result_ttl stay ttl until_ms'.split(
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

/** Names whose values are instants or durations as texts. Each is made, or read from Redis, in the same script. */
const INSTANTS = new Set([
  'ARGV[first + 3]',
  'at.failed_at',
  'due',
  'enqueued_at',
  'every',
  'kept',
  'now_text',
  'rate_period',
  'ready_at',
]);

/** Returns the arguments of a call, which begin there. */
function argumentsAt(text: string, start: number): string[] {
  const found = [''];
  for (let at = start, depth = 0; depth > 0 || text[at] !== ')'; at++) {
    const char = text[at]!;
    depth += '({['.includes(char) ? 1 : ')}]'.includes(char) ? -1 : 0;
    found.push(...(char === ',' && depth === 0 ? [''] : [found.pop()! + char]));
  }
  return found.map((each) => each.trim());
}

/** Returns the values of instants and durations in the writes of hashes, such as `due` of `'due_at_ms', due`. */
function instantsIn(text: string): string[] {
  return [...text.matchAll(/call\('HSET(?:NX)?',/g)].flatMap(({ index, 0: start }) => {
    const written = argumentsAt(text, index + start.length);
    return written.filter((_, i) => /^'\w+_ms'$/.test(written[i - 1] ?? ''));
  });
}

/** Returns whether an instant or a duration is stored as a text, or as one of two. */
function isDigits(value: string): boolean {
  return isText(value) || value.split(' or ').every((each) => INSTANTS.has(each) || isText(each));
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

it('stores each instant and each duration as a text of digits', () => {
  const found = scripts.flatMap(({ file, text }) => instantsIn(text).map((value) => ({ file, value })));
  expect(found.length).toBeGreaterThan(50);
  expect(found.filter(({ value }) => !isDigits(value))).toEqual([]);
});

it('stores each fence as a text of digits', () => {
  const stored = lines.filter(({ line }) => /'HSET(NX)?'.*redis\.call\('INCR'/.test(line));
  expect(stored.length).toBeGreaterThan(2);
  const bare = stored.filter(
    ({ line }) => !/string\.format\('%d', redis\.call\('INCR'|redis\.call\('INCR', sequence\) \.\./.test(line),
  );
  expect(bare).toEqual([]);
});
