// One stored job closes no window of its queue, whatever its payload is and whoever wrote it.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { JobHandler, OnJobFailed } from 'nest-job-queue';
import { JobQueue, NonRetryableError } from 'nest-job-queue/core';
import type { QueueView } from '#dashboard/views/views.js';
import { cli } from '../../cli/run-cli.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';
import { someOf } from '../../support/run/samples.js';

const SECRET = 'DE02-1203-SECRET';
const filler = (characters: number) => 'y'.repeat(characters);
const failure = { id: 'a', name: 'pay', error: `no ${SECRET}`, attempts: '1', failedAtMs: '1' };

/** The stored payloads, each by what it is. */
const PAYLOADS: Readonly<Record<string, string>> = {
  null: 'null',
  'a number': '5',
  'a text': '"x"',
  'a list': '[]',
  'an object': '{}',
  'no JSON': `{"iban":"${SECRET}`,
  'a deep list': '['.repeat(100_000),
  'a nested list': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'a failure': JSON.stringify({ ...failure, payload: JSON.stringify({ iban: SECRET }) }),
  'a failure of 5,000 characters': JSON.stringify({
    ...failure,
    payload: JSON.stringify({ iban: SECRET, text: filler(5_000) }),
  }),
  'a failure of 300,000 characters': JSON.stringify({
    ...failure,
    payload: JSON.stringify({ iban: SECRET, text: filler(300_000) }),
  }),
  'a failure with a payload that is no text': JSON.stringify({ ...failure, payload: { iban: SECRET } }),
  'a failure with an error that is no text': JSON.stringify({ payload: `{"iban":"${SECRET}"}`, error: 5 }),
  'a failure without the rest': JSON.stringify({ payload: `{"iban":"${SECRET}"}`, error: SECRET }),
  'a payload of 5,000 characters': JSON.stringify({ iban: SECRET, text: filler(5_000) }),
  'a payload of 70,000 characters': JSON.stringify({ iban: SECRET, text: filler(70_000) }),
};

const redis = connect();
const queue = uniqueQueueName('pay');

/** Stores a dead letter as another program may have left it, beside one of our own. */
async function store(id: string, name: string, payload: string): Promise<void> {
  const now = Date.now();
  const quoted = payload.includes(SECRET) ? SECRET : 'a value that nobody hides';
  await redis.hset(`queue:${queue}:job:${id}`, {
    name,
    payload,
    status: 'failed',
    enqueued_at_ms: now,
    failed_at_ms: now,
    last_error: `no ${quoted}`,
    attempt_log: `{"error":{"message":5},"startedAt":{},"endedAt":null}\n{"error":{"name":"E","message":"no ${quoted}"}}`,
    log: '{"at":1}\n{"message":7}\n[]\n5',
  });
  await redis.zadd(`queue:${queue}:dead`, now, id);
}

beforeAll(async () => {
  const ours = new JobQueue(redis, queue, { redact: ['iban'] });
  await ours.enqueue({}, { delayMs: 3_600_000 });
  await ours.exec((calls) => calls.workers.register({ worker: 'host:1:w', serves: true })); // the command line knows the names from workers
});

describe.each(someOf(Object.entries(PAYLOADS), 4))('%s', (what, payload) => {
  const windows: [string, (id: string) => string][] = [
    ['list', () => `/api/jobs?queue=${queue}&state=failed`],
    ['errors', () => `/api/errors?queue=${queue}`],
    ['search', () => `/api/search?queue=${queue}&state=failed&text=payload:zzz`],
    ['search by a field', () => `/api/search?queue=${queue}&state=failed&text=payload.iban:DE*`],
    ['search of all queues', () => `/api/search/all?text=zzz`],
    ['overview', () => '/api/overview'],
    ['find', (id) => `/api/find?id=${encodeURIComponent(id)}`],
    ['job', (id) => `/api/job?queue=${queue}&id=${encodeURIComponent(id)}`],
    ...['payload', 'errors', 'log'].map((part): [string, (id: string) => string] => [
      `file of ${part}`,
      (id) => `/api/job/file?queue=${queue}&id=${encodeURIComponent(id)}&part=${part}`,
    ]),
  ];
  const commands: [string, (id: string) => string[]][] = [
    ['list', () => ['list', queue, 'failed']],
    ['list --search', () => ['list', queue, '--search', 'payload:zzz']],
    ['show', (id) => ['show', queue, id]],
    ['errors', () => ['errors', queue]],
  ];

  it.each([
    ['a job', 'pay', 'odd'],
    ['a failure job', '@failed:pay', '@failed:a:1'],
    ['a failure job without its name', 'pay', '@failed:a:2'],
  ])('of %s', async (_, name, id) => {
    const app = await startDashboard({
      jobs: { worker: false, maintenance: false, queues: { [queue]: { redact: ['iban'] } } },
    });
    await store('ours', 'pay', JSON.stringify({ iban: SECRET, to: 'ada' }));
    await store(id, name, payload);
    // The text of a JSON text is no field, so a failure shows it only where it is one.
    const isFailureElsewhere = what.startsWith('a failure') && name === 'pay' && id === 'odd';
    for (const [window, path] of windows) {
      const { status, body } = await app.get(path(id));
      expect({ window, status }).toEqual({ window, status: 200 });
      const said = JSON.stringify(body);
      if (!isFailureElsewhere)
        expect({ window, said }).not.toMatchObject({ said: expect.stringContaining(SECRET) });
      if (window === 'list') expect(said).toContain('to: ada');
    }
    for (const [command, args] of commands.flatMap(([as, of]) => [
      [as, of(id)] as const,
      [`${as} --json`, [...of(id), '--json']] as const,
    ])) {
      const { code, stdout, stderr } = await cli(args);
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr });
      if (!isFailureElsewhere) expect(stdout.includes(SECRET) && command).toBe(false);
    }
    await redis.del(`queue:${queue}:job:${id}`);
    await redis.zrem(`queue:${queue}:dead`, id);
  });
});

it('a payload of 5,000 characters that fails in a queue with `redact` and @OnJobFailed closes no window', async () => {
  const name = uniqueQueueName('charge');
  let told = 0;
  @JobHandler(name, { maxAttempts: 1 })
  class Handler {
    handle(): never {
      throw new NonRetryableError('no');
    }

    @OnJobFailed(name)
    async tell(): Promise<void> {
      told++;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
  const busy = await startDashboard({ providers: [Handler], jobs: { queues: { [name]: { redact: ['iban'] } } } });
  await busy.queue(name).enqueue({ iban: SECRET, text: filler(5_000) });
  await eventually(() => told > 0);
  const { body } = await busy.get('/api/overview');
  expect((body as { overview: { queues: QueueView[] } | null }).overview?.queues).toHaveLength(1);
  await eventually(async () => (await busy.queue(name).stats()).completed === 1);
  for (const path of [`jobs?queue=${name}&state=completed`, 'search/all?text=zzz']) {
    expect(await busy.get(`/api/${path}`)).toMatchObject({ status: 200 });
  }
});
