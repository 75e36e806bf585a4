// The name of each error of the library, also where a bundler has renamed its class.
import { expect, it } from '@jest/globals';
import * as core from '../../../src/core.js';
import * as nest from '../../../src/index.js';

const { JobQueueError, NonRetryableError } = core;

type ErrorClass = typeof JobQueueError;

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === 'function' && (value === JobQueueError || value.prototype instanceof JobQueueError);

const classes = Object.entries({ ...nest, ...core }).filter((entry): entry is [string, ErrorClass] =>
  isErrorClass(entry[1]),
);

it.each(classes)('%s keeps its name in a bundle', (exported, type) => {
  const own = Object.getOwnPropertyDescriptor(type, 'name')!;
  Object.defineProperty(type, 'name', { ...own, value: 'e' });
  try {
    const error = Reflect.construct(JobQueueError, ['a reason'], type) as Error;
    expect(error.name).toBe(exported);
    expect(String(error)).toBe(`${exported}: a reason`);
  } finally {
    Object.defineProperty(type, 'name', own);
  }
});

it('knows all errors', () => expect(classes.length).toBeGreaterThan(25));

it('leaves the error of an app its own name, and the code of its base', () => {
  class CardDeclined extends NonRetryableError {}
  expect(new CardDeclined('no')).toMatchObject({ name: 'CardDeclined', code: NonRetryableError.code });
});
