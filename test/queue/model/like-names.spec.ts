// A name that begins or ends with another one is another name. So is a number whose digits do.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { onClock } from '#inspect/clock.js';
import { checkLimitCosts, checkRestedLimit } from '#queue/model/shared-limit.js';
import { slotsOfJob } from '#queue/model/worker-record.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import { isQueueName, nameOfSpelled, QUEUE_NAME_RULE } from '#queue/validation/names.js';
import { nearest, suggest } from '#queue/validation/suggest.js';
import { UsedDefinitions } from '#queue/validation/used-definitions.js';
import { handlerLimits } from '#worker/handlers/handler.js';

const payload = z.object({});
const defined = (name: string, maxAttempts: number) => defineJob(name, { payload, maxAttempts });

/** Names of which each begins, ends or contains others. */
const LIKE = ['ai', 'ai-ai', 'ai-x', 'x-ai', 'x-ai-x'];
const others = (name: string) => LIKE.filter((each) => each !== name);

const usesOf = (names: readonly string[]) => names.map((limit) => ({ limit, cost: { most: 5 } }));
const queueWith = (limits: string[]) => ({ name: 'mail', options: { limits } });
const limitsOf = (maxAttempts: number, maxCrashes: number) => ({ maxAttempts, maxCrashes });
const berlin = (at: string) => onClock(Date.parse(at), 'Europe/Berlin', Date.parse('2026-01-01T00:00:00Z'));

it.each(LIKE)('a cost of the limit "%s" is none of a limit with a like name', (name) => {
  expect(() => checkLimitCosts('mail', { [name]: 5 }, usesOf([name]))).not.toThrow();
  expect(() => checkLimitCosts('mail', { [name]: 6 }, usesOf([name]))).toThrow(
    `limitCosts.${name}: expected at most 5`,
  );
  expect(() => checkLimitCosts('mail', { [name]: 5 }, usesOf(others(name)))).toThrow(`found "${name}"`);
  expect(() =>
    checkLimitCosts('mail', { [name]: 5 }, [...others(name), { limit: name, cost: 2 }], 'jobs[3]'),
  ).toThrow(/^jobs\[3\]\.limitCosts: expected limits whose cost is a range in queue "mail": none, found/);
  expect(() => checkLimitCosts('mail', { [name]: 5 }, undefined)).not.toThrow();
});

it.each(LIKE)('a handler rests the limit "%s" and no limit with a like name', (name) => {
  expect(() => checkRestedLimit(name, queueWith([name]))).not.toThrow();
  expect(() => checkRestedLimit(name, queueWith(others(name)))).toThrow(
    /^RateLimitedError\.limit: expected a limit of the queue/,
  );
  expect(() => checkRestedLimit(name, queueWith([]))).toThrow('none, because the queue has no limits');
});

it('a job takes the slots of its own handler, else of the handler of every name', () => {
  const weights = LIKE.map((name, i) => ({ name, slots: i + 2 }));
  expect(LIKE.map((name) => slotsOfJob({ weights }, { name }))).toEqual([2, 3, 4, 5, 6]);
  expect(slotsOfJob({ weights }, { name: 'a' })).toBe(1);
  const ofAll = [...weights, { name: '*', slots: 3, most: 9 }];
  expect([undefined, 8, 99].map((slots) => slotsOfJob({ weights: ofAll }, { name: 'a', ...(slots && { slots }) }))).toEqual([3, 8, 9]); // prettier-ignore
});

it('handlers whose attempts differ by a digit have limits of their own', () => {
  const handlers = new Map<string, object>([
    ['same', {}],
    ['longer', { maxAttempts: 33 }],
    ['other', { maxCrashes: 12 }],
    ['equal', limitsOf(3, 1)],
  ]);
  const { own, others: ofQueue, all } = handlerLimits(handlers, limitsOf(3, 1));
  expect(own.map(({ name }) => name)).toEqual(['longer', 'other']);
  expect(ofQueue).toEqual(limitsOf(3, 1));
  expect(all).toHaveLength(4);
});

it('two definitions of one name are told once, if they differ', () => {
  const warned: string[] = [];
  const logger = { log() {}, error() {}, warn: (line: string) => void warned.push(line) };
  const used = new UsedDefinitions({ name: 'mail', store: { logger } });
  const [first, equal, other] = [defined('send', 3), defined('send', 3), defined('send', 33)]; // prettier-ignore
  for (const each of [undefined, first, first, equal, equal, defined('send-all', 1)]) used.use(each, 'a');
  expect(warned).toEqual([]);
  for (const each of [other, other, first]) used.use(each, 'b');
  expect(warned).toHaveLength(1);
});

it.each([
  ['mail', 'mail'],
  ['{mail}', 'mail'],
  ['{m}', 'm'],
])('the keys of %s are those of the queue %s', (spelled, name) => {
  expect(nameOfSpelled(spelled)).toBe(name);
});

it.each([
  ['mail', true],
  ['m'.repeat(128), true],
  ['m'.repeat(129), false],
  ['', false],
  ['mail box', false],
  ['{mail}', false],
  [7, false],
])('%j is the name of a queue: %s', (name, isOne) => {
  expect([isQueueName(name), QUEUE_NAME_RULE.length > 0]).toEqual([isOne, true]);
});

it.each([
  ['maxRuning', 'maxRunning'],
  ['MAXRUNNING', 'maxRunning'],
  ['Runni', undefined],
  ['xRunning', 'maxRunning'],
  ['a', undefined],
  ['m'.repeat(500), undefined],
])('the name that "%s" may mean is %s', (word, name) => {
  expect(nearest(word, ['maxRunning', 'rateLimit'])).toBe(name);
});

it.each([
  ['connection', 'redis'],
  ['keyPrefix', 'prefix'],
  ['retries', 'maxAttempts'],
  ['timeout', 'timeoutMs'],
  ['ttl', 'resultTtlMs'],
  ['limiter', 'rateLimit'],
  ['duration', 'periodMs'],
  ['lockDuration', 'visibilityMs'],
  ['stalledInterval', 'maintenance'],
  ['maxStalledCount', 'maxCrashes'],
  ['globalConcurrency', 'maxRunning'],
  ['removeOnComplete', 'resultTtlMs'],
  ['removeOnFail', 'deadLetterAgeMs'],
  ['deduplication', 'unique'],
  ['sizeLimit', 'maxPayloadBytes'],
  ['pattern', 'cron'],
  ['tz', 'timeZone'],
  ['jobId', 'id'],
  ['data', 'payload'],
])('who writes the option "%s" of another library is told of %s', (word, name) => {
  expect(suggest(word, ['backoff', name])).toBe(`Did you mean ${name}?`);
  expect(suggest(word, ['backoff'])).toBe('Known: backoff.');
});

it('a time that the clock shows twice names its offset, and no other time does', () => {
  expect(berlin('2026-10-25T00:30:00Z')).toBe('Sun 25 Oct, 02:30 GMT+2');
  expect(berlin('2026-10-25T01:30:00Z')).toBe('Sun 25 Oct, 02:30 GMT+1');
  for (const at of [
    '2026-10-24T23:59:00Z',
    '2026-10-25T02:00:00Z',
    '2026-10-25T11:30:00Z',
    '2026-10-24T00:30:00Z',
  ]) {
    expect(berlin(at)).not.toContain('GMT');
  }
  expect(onClock(Date.parse('2027-06-01T10:00:07Z'), 'UTC', Date.parse('2026-01-01T00:00:00Z'))).toBe(
    'Tue 1 Jun 2027, 10:00:07',
  );
});
