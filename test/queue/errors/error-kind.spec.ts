import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { lastErrorWords } from '#queue/dead-letters/error-kinds.js';
import { errorFingerprint, errorWords, kindText, ownKindOf, errorKey } from '#queue/errors/error-kind.js';
import { serializeError, type StoredError } from '#queue/errors/stored-error.js';

interface Labelled {
  /** The name that a person gave the kind. */
  kind: string;
  errors: StoredError[];
}

/** Errors in the formats of real libraries and services, sorted into kinds by hand. */
const corpus = JSON.parse(readFileSync(new URL('error-corpus.json', import.meta.url), 'utf8')) as Labelled[];

const fetchFailed = (cause: Error) => serializeError(new TypeError('fetch failed', { cause }));
const ownWords = (message: string) => errorFingerprint(serializeError(new Error(message)), undefined, 'payment');
const place = (stack: string) =>
  errorFingerprint({ name: 'Error', message: String(stack.length), stack }).split(' ')[1];
const keyOfJson = (value: unknown) => errorKey(`Stripe: ${JSON.stringify(value)}`);

describe('the kind of an error', () => {
  it('joins the errors of a corpus as a person does, and parts all that a person would part', () => {
    const labels = new Map<string, Set<string>>();
    let joined = 0;
    for (const { kind, errors } of corpus) {
      const groups = new Map<string, number>();
      for (const error of errors) {
        const key = kindText(error);
        groups.set(key, (groups.get(key) ?? 0) + 1);
        labels.set(key, (labels.get(key) ?? new Set()).add(kind));
      }
      joined += Math.max(...groups.values());
    }
    const total = corpus.reduce((sum, { errors }) => sum + errors.length, 0);
    expect(corpus.length).toBeGreaterThanOrEqual(60);
    expect(total).toBeGreaterThanOrEqual(400);
    expect(joined / total).toBeGreaterThanOrEqual(0.97);
    expect([...labels.values()].filter((each) => each.size > 1).map((each) => [...each])).toEqual([]);
  });

  it.each([
    ['[acme] sync of ada@example.com failed', '[globex] sync of li@web.de failed'],
    ['GET https://a.example.com/x?y=1 gave 7 items', 'GET https://b.example.com/z gave 1 item'],
    ['Amount 12.50 EUR is over $9', 'Amount 7,99 € is over 20 USD'],
    ['SMS to +49 151 23456789 failed', 'SMS to +1 (555) 010-4477 failed'],
    ['file uploads/2026/a.pdf is empty', 'file uploads/b/c/d.png is empty'],
    ['sent at 2026-11-29T01:02:03Z', 'sent at Sun Nov 29 2026 01:38:53 GMT+0000 (Coordinated Universal Time)'],
  ])('takes out what differs between jobs: %s', (one, other) => {
    expect(errorKey(one)).toBe(errorKey(other));
    expect(errorKey(one)).toContain('…');
  });

  it.each([
    ['status code 502', 'status code 503'],
    ['exited with code 1', 'exited with code 137'],
    ["Cannot read properties of undefined (reading 'id')", "Cannot read properties of undefined (reading 'name')"],
    ['violates unique constraint "users_email_key"', 'violates unique constraint "orders_number_key"'],
    ['550 5.1.1 <a@b.de>: rejected', '552 5.2.2 <a@b.de>: rejected'],
  ])('keeps what a person parts by: %s', (one, other) => {
    expect(errorKey(one)).not.toBe(errorKey(other));
  });

  it.each([
    ['fields that name no kind', { code: 'declined', trace: 'blue' }, { code: 'declined', host: 'green' }],
    ['places in lists', { path: ['items', 3, 'price'] }, { path: ['items', 12, 'price'] }],
    [
      'the order and number of equal errors',
      [{ code: 'b' }, { code: 'a' }],
      [{ code: 'a' }, { code: 'b' }, { code: 'b' }],
    ],
    ['numbers that are no status', { status: 7 }, { status: 99 }],
    ['numbers above those of a status', { status: 600 }, { status: 4_711 }],
    ['lists of values', ['red', 'green'], ['blue']],
    ['values of fields that all name no kind', { host: 'blue', trace: 'x' }, { host: 'green', trace: 'y' }],
  ])('takes out what differs between JSON of one kind: %s', (_what, one, other) => {
    expect(keyOfJson(one)).toBe(keyOfJson(other));
  });

  it.each([
    ['codes', { code: 'declined' }, { code: 'expired' }],
    ['codes within a list of errors', { errors: [{ code: 'a' }] }, { errors: [{ code: 'b' }] }],
    ['the first and the last status', { status: 100 }, { status: 599 }],
    ['a status and a number that is none', { status: 599 }, { status: 600 }],
    ['a status and a smaller number', { status: 100 }, { status: 99 }],
    ['paths', { path: ['items', 3, 'price'] }, { path: ['items', 3, 'name'] }],
    ['paths that are texts', { path: 'price' }, { path: 'name' }],
    ['the names of fields that all name no kind', { host: 1 }, { zone: 1 }],
    ['what is nothing and what is true', { reason: null }, { reason: true }],
  ])('keeps apart JSON of two kinds: %s', (_what, one, other) => {
    expect(keyOfJson(one)).not.toBe(keyOfJson(other));
  });

  it('looks at any text within a few ms', () => {
    const seeds = [
      'a',
      '1',
      '"',
      "'",
      '[',
      '{',
      '=',
      '/',
      ':',
      '.',
      '-',
      '+',
      '*',
      '@',
      '…',
      'a1',
      '1:',
      'a.',
      'E_',
      '{"',
      ' 1',
      '5 ',
      'A1_',
    ];
    const began = performance.now();
    for (const one of seeds) {
      for (const other of seeds) {
        errorKey((one + other).repeat(1_500));
      }
    }
    // 529 texts; a pattern that goes back and forth takes seconds for one
    expect(performance.now() - began).toBeLessThan(529 * 20);
  });

  it('takes the root cause and the code, and shows them', () => {
    const refused = fetchFailed(
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' }),
    );
    const slow = fetchFailed(
      Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' }),
    );
    expect(errorFingerprint(refused)).not.toBe(errorFingerprint(slow));
    expect(errorWords(refused)).toBe('fetch failed: connect ECONNREFUSED 10.0.0.7:443');
    expect(errorWords(slow)).toBe('fetch failed: Headers Timeout Error (UND_ERR_HEADERS_TIMEOUT)');
    const attempt = { error: slow } as Parameters<typeof lastErrorWords>[0]['attemptLog'][number];
    expect(lastErrorWords({ lastError: 'fetch failed', attemptLog: [attempt], errorKind: '~1' })).toBe(
      'many kinds from one place, such as: fetch failed: Headers Timeout Error (UND_ERR_HEADERS_TIMEOUT)',
    );
  });

  it("takes the app's own words, and survives a function that throws", () => {
    expect(ownWords('a')).toBe(ownWords('b'));
    expect(ownKindOf(new Error('a'), () => 'x')).toEqual({ ownKind: 'x' });
    expect(ownKindOf(new Error('a'), () => '')).toEqual({});
    expect(
      ownKindOf(new Error('a'), () => {
        throw new Error('b');
      }),
    ).toEqual({});
  });

  it('joins by the name and the first frame of the app', () => {
    const own = 'Error: x\n    at read (/app/node_modules/pg/index.js:1:2)\n    at save (/app/src/save.ts:3:4)';
    expect(place(own)).toBe(place(`${own}\n    at other (/app/src/other.ts:1:1)`));
    expect(place(own)).not.toBe(place(own.replace('save.ts', 'load.ts')));
  });
});
