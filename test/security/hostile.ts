// Hostile words and values, as a request, an argument or a key of Redis may have them.
import fc from '../support/queue/properties.js';

const WORDS = [
  '',
  ' ',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '../../etc/passwd',
  '%00%2e%2e',
  '\0',
  'a\r\nset-cookie: x=1',
  '\u001B[2J',
  '\u202E',
  '\uD800',
  '-1',
  '1e999',
  'NaN',
  '9007199254740993',
  '*',
  '[',
  '{}',
  '{"__proto__":{"admin":true}}',
  "' or 1=1",
  '<img src=x onerror=alert(1)>',
  'job',
  'pending',
  'x'.repeat(5_000),
];

export const hostileWord: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...WORDS), weight: 4 },
  fc.string({ maxLength: 30, unit: 'binary' }),
);

const hostileKey = fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'toJSON', 'a');

/** Any JSON value, also with keys that every object inherits. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: hostileWord, weight: 3 },
  fc.constantFrom(null, true, 0, -1, 1e308, 2 ** 53, [], {}, [[[[]]]]),
  fc.array(hostileWord, { maxLength: 3 }),
  fc.dictionary(hostileKey, fc.oneof(hostileWord, fc.constant(null), fc.constant({})), { maxKeys: 3 }),
);

/** A field that a request adds or replaces. */
export const hostileField: fc.Arbitrary<[string, unknown]> = fc.tuple(
  fc.oneof(
    hostileKey,
    fc.constantFrom(
      'queue',
      'id',
      'ids',
      'state',
      'action',
      'group',
      'match',
      'limits',
      'payload',
      'cursor',
      'offset',
    ),
  ),
  hostileValue,
);

/** Sets a field as JSON would: `__proto__` is a field like others. */
export function withField(input: object, [name, value]: [string, unknown]): object {
  return Object.fromEntries([...Object.entries(input).filter(([key]) => key !== name), [name, value]]);
}
