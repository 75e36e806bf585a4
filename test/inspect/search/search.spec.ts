// The terms of a search over jobs, and which jobs they find.
import { expect, it } from '@jest/globals';
import { InvalidOptionError, type JobRecord } from 'nest-job-queue/core';
import { compileSearch, parseSearch } from '#inspect/search.js';
import { decodeJobHash } from '#queue/replies/decode-job.js';
import { ShownContent } from '#queue/store/shown-content.js';
import { inQuotes } from '#inspect/words.js';

it.each<[string, object[]]>([
  ['', []],
  [' 410 Gone ', [{ field: 'text', value: '410 Gone' }]],
  ['"410  Gone" 5', [{ value: '410  Gone' }, { value: '5' }]],
  ['payload.customer.id:4', [{ field: 'payload', path: 'customer.id', value: '4' }]],
  ['payload:acme', [{ field: 'payload', value: 'acme' }]],
  [
    'error:"410 Gone" state:failed',
    [
      { field: 'error', value: '410 Gone' },
      { field: 'state', value: 'failed' },
    ],
  ],
  ['a b group:x c d', [{ value: 'a b' }, { field: 'group', value: 'x' }, { field: 'text', value: 'c d' }]],
  ['tag.tenant:acme', [{ field: 'tag', path: 'tenant', value: 'acme' }]],
  ['id:order:21', [{ field: 'id', value: 'order:21' }]],
  ['https://shop.example/x', [{ field: 'text', value: 'https://shop.example/x' }]],
  ['Error: connect 127.0.0.1:6379', [{ field: 'text', value: 'Error: connect 127.0.0.1:6379' }]],
  ['tenant: acme', [{ field: 'text', value: 'tenant: acme' }]],
  ['error:"say \\"no\\""', [{ field: 'error', value: 'say "no"' }]],
])('reads %j', (search, terms) => {
  const read = parseSearch(search);
  expect(read).toHaveLength(terms.length);
  expect(read).toMatchObject(terms);
});

it.each(['tenant:4 2', 'a "b" \\', 'two\nlines\t', '\u0001', ' '])('reads %j from quotes as it is', (value) => {
  expect(parseSearch(`group:${inQuotes(value)} x`)).toMatchObject([{ field: 'group', value }, { value: 'x' }]);
});

it.each([
  [
    'stat:failed',
    /^search: expected a field of payload, payload\.PATH, .* state, name, id, found "stat:"\. .* quotes: "stat:failed"\.$/,
  ],
  ['state:dead', /^search: expected state: with one of pending, .* found "dead"\. Did you mean state:failed\?$/],
  ['state:Running', /found "Running"\. Did you mean state:processing\?$/],
  ['state:lost', /^search: expected state: with one of pending, scheduled, .* found "lost"\.$/],
  ['error: 410', /^search: expected text directly after error:, found none\. Such as error:"410 Gone"\.$/],
  ['payload.x:', /^search: expected text directly after payload\.x:, found none\. Such as payload\.x:4\.$/],
  ['group.x:1', /^search: expected group: without a path, found "group\.x:"/],
  ['"410 Gone', /^search: expected a closing quote, found "\\"410 Gone"/],
  ['name:a '.repeat(21), /^search: expected at most 20 terms, found 21/],
  ['x'.repeat(501), /^search: expected a search of at most 500 characters, found 501 characters/],
])('refuses %j, and names the expected form', (search, message) => {
  expect(() => parseSearch(search)).toThrow(InvalidOptionError);
  expect(() => parseSearch(search)).toThrow(message);
});

const ERROR = {
  name: 'TypeError',
  message: 'No account',
  stack: 'TypeError: No account\n    at charge (billing.ts:7)\n    at listOnTimeout (node:internal/timers:545:9)',
  cause: { name: 'Error', message: 'connect ECONNREFUSED', errors: [{ name: 'Error', message: 'inner one' }] },
};
const JOB: JobRecord = {
  ...decodeJobHash('billing:eu', 'order-21', {}),
  name: 'webhook',
  status: 'failed',
  group: 'tenant-1',
  metadata: { 'request-id': 'r-77', tenant: 'Acme' },
  payload: {
    customer: { id: 4, name: 'Ada' },
    items: [{ sku: 'a-1' }, { sku: 'b-2', tags: ['red', 'blue'] }],
    'a.b': { c: true },
    note: null,
  },
  lastError: 'No account',
  attemptLog: [
    { attempt: 1, startedAt: new Date(0), endedAt: new Date(0), worker: null, outcome: 'error', error: ERROR },
  ],
};

const content = new ShownContent([]);
const looked = (search: string, changes: object = {}) =>
  compileSearch(search).look(content.record({ ...JOB, ...changes }));

it.each([
  '',
  'no ACCOUNT',
  'econnrefused',
  'billing.ts:7',
  '"inner one"',
  'tenant: acme',
  'order-21 ',
  'error:refused',
  'error:"TypeError: No account"',
  'error:charge',
  'group:TENANT-1',
  'group:tenant-*',
  'tag:acme',
  'tag:request',
  'tag.tenant:acme',
  'queue:billing:eu',
  'queue:*:eu state:failed',
  'queue:email queue:billing*',
  'name:web*ok id:order-21',
  'payload.customer.id:4',
  'payload.customer.name:ada',
  'payload.customer.name:a*',
  'payload.items.sku:b-2',
  'payload.items.1.sku:b-2',
  'payload.items.tags:blue',
  'payload.a.b.c:true',
  'payload.note:null',
  'payload:"ada"',
  'payload.customer.id:4 error:account webhook',
])('finds a job by %j', (search) => {
  expect(looked(search)).toBe('match');
});

it('finds a job by the signal that it waits for, while it is parked for it', () => {
  const wait = { name: 'approved', kind: 'signal', since: new Date(0), state: 'open' } as const;
  const parked = { status: 'scheduled', waits: [wait], attemptLog: [{ ...JOB.attemptLog[0]!, outcome: 'wait' }] };
  expect(['waits:approved', 'waits:*', 'waits:APP*'].map((search) => looked(search, parked))).toEqual(
    Array(3).fill('match'),
  );
  expect(looked('waits:paid', parked)).toBe('none');
  expect(looked('waits:*', { ...parked, status: 'pending' })).toBe('none');
  expect(looked('waits:*', { ...parked, attemptLog: JOB.attemptLog })).toBe('none');
  expect(looked('waits:*', { ...parked, waits: [{ ...wait, state: 'answered' }] })).toBe('none');
});

it.each([
  'account no',
  'ada',
  'group:tenant',
  'group:tenant-1*1',
  'tag.tenant:acm',
  'tag.toString:*',
  'queue:billing',
  'state:pending',
  'payload.customer:4',
  'payload.customer.id:40',
  'payload.items.0.sku:b-2',
  'payload.items.length:2',
  'payload.constructor.name:*',
  'payload.customer.id:4 error:timeout',
])('does not find it by %j', (search) => {
  expect(looked(search)).toBe('none');
});

it('looks once at a value to which two ways of a path lead', () => {
  let payload: unknown = { 0: 'end' };
  let reads = 0;
  for (let depth = 0; depth < 20; depth++) {
    const inner = payload;
    payload = [Object.defineProperty({}, '0', { enumerable: true, get: () => (reads++, inner) })];
  }
  expect(looked(`payload.${'0.'.repeat(30)}0:x`, { payload })).toBe('none');
  expect(reads).toBeLessThan(1_000);
});

it('says that a payload which was left out or is encrypted could not be looked into', () => {
  expect(looked('payload.customer.id:4', { payload: undefined, leftOut: { payload: 90_000 } })).toBe('unread');
  expect(looked('payload:x', { payload: { $codec: 'aes' } })).toBe('unread');
  expect(looked('payload.customer.id:4 state:pending', { leftOut: { payload: 90_000 } })).toBe('none');
  expect(looked('order-21', { payload: undefined, leftOut: { payload: 90_000 } })).toBe('match');
});

it('says in which queues and states nothing can match', () => {
  const { mayMatch, readsPayloads } = compileSearch('queue:mail* state:failed state:cancelled');
  expect(readsPayloads).toBe(false);
  expect(compileSearch('payload.a:1').readsPayloads).toBe(true);
  expect([mayMatch('mail-eu', 'failed'), mayMatch('mail', 'cancelled')]).toEqual([true, true]);
  expect([mayMatch('mail', 'pending'), mayMatch('email', 'failed')]).toEqual([false, false]);
});
