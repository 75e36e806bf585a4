// An address of Redis in the wrong place: no error shows its password.
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { show, withoutPasswords } from '#queue/errors/show.js';
import { resolveModuleOptions } from '#nest/job-queue.options.js';

const ADDRESSES = [
  'redis://:hunter2@cache:6379',
  'redis//:hunter2@cache',
  'redis:/:hunter2@cache',
  'rediss://ada:hunter2@cache',
  'redis://:hunter2 x@cache',
  'redis://cache?password=hunter2',
  'http://ada:hunter2@cache',
];

const client = new Redis({ lazyConnect: true });

it.each<[string, (address: string) => unknown]>([
  ['a queue', (address) => new JobQueue(client, `${address} `)],
  ['a prefix', (address) => new JobQueue(client, 'a', { prefix: address })],
  ['an option', (address) => new JobQueue(client, 'a', { [address]: 1 })],
  ['a value of an option', (address) => new JobQueue(client, 'a', { maxAttempts: address as never })],
  ['an option of the module', (address) => resolveModuleOptions({ [address]: 1 })],
  ['all options of the module', (address) => resolveModuleOptions([address] as never)],
  [
    'a queue of the module',
    (address) => resolveModuleOptions({ queues: { [address]: { maxAttempts: 'x' } } as never }),
  ],
])('in place of %s', (_, call) => {
  for (const address of ADDRESSES) {
    let thrown: unknown;
    try {
      call(address);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidOptionError);
    const { message, stack, ...fields } = thrown as InvalidOptionError;
    expect([message, stack, JSON.stringify(fields)].join()).not.toContain('hunter2');
  }
});

it('shows an object by its first keys, and a mail address as it is', () => {
  expect(show({ 'redis://:hunter2@cache': 1, b: 2 })).toBe('an object with …@cache, b');
  expect(show({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })).toBe('an object with a, b, c, d, e');
  expect(show('ada@example.com')).toBe('"ada@example.com"');
  expect(show('a?b=c')).toBe('"a?b=c"');
});

it('shows a short list of scalars as it is, and of any other its length', () => {
  expect(show([1, 'a', true])).toBe('[1, "a", true]');
  expect([[], [{}], Array.from({ length: 100 }, () => 1)].map(show)).toEqual([
    'an array of 0',
    'an array of 1',
    'an array of 100',
  ]);
});

it('reads a long text once', () => {
  const text = 'redis'.repeat(100_000);
  expect(withoutPasswords(text)).toBe(text);
});

it.each([
  ['redis://cache:6379/hunter2', '"redis://cache:6379/…"'],
  ['rediss://cache/hunter2', '"rediss://cache/…"'],
  ['REDIS://cache#hunter2', '"REDIS://cache#…"'],
  ['redis://cache:6379/0', '"redis://cache:6379/0"'],
  ['redis://cache:6379/', '"redis://cache:6379/"'],
])('shows the address %s with no text in place of a database', (address, shown) => {
  expect(show(address)).toBe(shown);
  const text = `no queue ${shown}, found redis://host:port/<number>, or redis://localhost:6379/0.`;
  expect(withoutPasswords(text)).toBe(text);
});
