// A marked secret in every field that a handler or a producer writes: no window shows it.
import { expect, it, jest } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { Job, JobTexts } from '#worker/handlers/job.js';
import { ShownContent } from '#queue/store/shown-content.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { someOf } from '../support/run/samples.js';
import { judgeTexts } from './key-attack.js';
import { BATCH, IDS, REDACT, SCHEDULE, SECRET } from './marked-queue.js';
import { Windows } from './windows.js';
import { showRecordsOpenly } from './plants.js';

const redis = connect();

/** Returns the fields of a hash whose value has the secret. */
async function marked(key: string): Promise<string[]> {
  const fields = await redis.hgetall(key);
  return Object.keys(fields)
    .filter((field) => fields[field]!.includes(SECRET))
    .toSorted();
}

/** Reads every window twice, so that each command answers in words and in JSON. */
async function lookTwice(windows: Windows): Promise<Map<string, string>> {
  const first = await windows.look();
  return new Map([...first, ...(await windows.look()), ['log', first.get('log')!]]);
}

it('the secret is in every field, and in no window: dashboard, stream, command, metric, health, span, log', async () => {
  const windows = await new Windows().open();
  const base = `queue:${windows.name}:`;
  expect(await marked(`${base}job:${IDS.failed}`)).toEqual([
    'attempt_log',
    'checkpoint',
    'last_error',
    'log',
    'payload',
    'progress',
    'steps',
  ]);
  expect(await marked(`${base}job:${IDS.completed}`)).toEqual(expect.arrayContaining(['result']));
  expect(await marked(`${base}schedule:${SCHEDULE}`)).toEqual(['payload']);
  expect(await marked(`${base}job:@batch:${BATCH}:finally`)).toContain('payload');
  const failures = await redis.keys(`${base}job:@failed:*`);
  expect(await marked(failures[0]!)).toEqual(['attempt_log', 'last_error', 'payload']);
  const { dead, texts: seen } = await windows.run();
  const texts = new Map([...seen, ...(await lookTwice(windows))]);
  judgeTexts(texts);
  expect(texts.get('log')).toContain(dead);
  expect(texts.get('log')).toContain('no account [redacted]');
  expect(texts.get('log')).toContain('nobody to tell of [redacted]');
  expect(texts.get('spans')).toContain('no account [redacted]');
  expect(texts.get('tail')).toMatch(/completed.*redacted/);
  for (const [window, text] of texts) {
    expect({ window, isEmpty: text === '' }).toEqual({ window, isEmpty: false });
  }
});

it('the dashboard of another process hides the fields that the workers hide', async () => {
  const windows = await new Windows().open(false);
  const texts = await windows.look();
  judgeTexts(texts);
  expect(texts.get('GET api/jobs')).toContain('[redacted]');
});

/** Planted faults, which show the secret in some window. */
const PLANTS: [string, () => void][] = [
  [
    'texts that know the payload only',
    () => {
      jest.spyOn(JobTexts.prototype, 'know').mockImplementation(() => undefined);
      jest.spyOn(JobTexts.prototype, 'knowStep').mockImplementation(() => undefined);
    },
  ],
  ['records without redaction', showRecordsOpenly],
];

it.each(someOf(PLANTS, 2))('finds %s', async (_what, plantFault) => {
  plantFault();
  const texts = await (await new Windows().open()).look();
  expect(() => judgeTexts(texts)).toThrow('secret out');
});

it('an event and a span without redaction are found', async () => {
  jest.spyOn(ShownContent.prototype, 'event').mockImplementation((_queue, event) => event);
  jest.spyOn(Job.prototype, 'shownText').mockImplementation((text) => text);
  const { texts } = await (await new Windows().open()).run();
  for (const window of ['tail', 'tail --json', 'spans']) {
    expect(() => judgeTexts(new Map([[window, texts.get(window)!]]))).toThrow('secret out');
  }
});

const circular: Record<string, unknown> = { iban: SECRET };
circular['self'] = circular;

it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
  ['a payload with a circle', (queue) => queue.enqueue(circular)],
  ['a payload with a bigint', (queue) => queue.enqueue({ iban: SECRET, sum: 1n })],
  ['a payload that is too large', (queue) => queue.enqueue({ iban: SECRET, text: 'x'.repeat(3_000_000) })],
  ['an unknown option', (queue) => queue.enqueue({ iban: SECRET }, { delay: 1 } as never)],
  ['many jobs with a bad one', (queue) => queue.enqueueMany([{ payload: { iban: SECRET, sum: 1n } }])],
  ['a member of a batch', (queue) => queue.batch().add('pay', { iban: SECRET, sum: 1n })],
  [
    'a schedule',
    (queue) => queue.schedules.upsert('s', { cron: '* * * * *' }, { payload: { iban: SECRET, sum: 1n } }),
  ],
])('an error about %s does not quote it', async (_what, call) => {
  const queue = new JobQueue(redis, uniqueQueueName(), { redact: REDACT });
  const thrown: unknown = await Promise.resolve()
    .then(() => call(queue))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(thrown).toBeInstanceOf(Error);
  const { message, stack, cause } = thrown as Error;
  expect([message, stack, String(cause), JSON.stringify(thrown)].join('\n')).not.toContain(SECRET.slice(5));
});
