// Reports that a handler does not await: Redis may ask for their script, so that they are sent twice.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import { NonRetryableError, RateLimitedError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

type Script = 'attemptLog' | 'attemptProgress' | 'attemptCheckpoint';

/** Each report, with its script, and what the job has of it. */
const REPORTS = {
  log: { script: 'attemptLog', send: (job: Job, value: string) => job.log(value) },
  progress: { script: 'attemptProgress', send: (job: Job, value: string) => job.progress(value) },
  checkpoint: { script: 'attemptCheckpoint', send: (job: Job, value: string) => job.checkpoint(value) },
} as const;

/** Each end of a handler, with the event and the status that it leads to. */
const ENDS = {
  completion: { event: 'completed', status: 'completed', end: () => undefined },
  failure: {
    event: 'failed',
    status: 'failed',
    end: () => {
      throw new NonRetryableError('no');
    },
  },
  snooze: { event: 'released', status: 'scheduled', end: (job: Job) => job.snooze(60_000) },
  rateLimit: {
    event: 'released',
    status: 'pending',
    end: () => {
      throw new RateLimitedError({ retryAfterMs: 60_000 });
    },
  },
} as const;

/** Lets the server not know one script at its next call, and know all others. Counts the calls of the script. */
async function forgetOnce(redis: Redis, script: Script): Promise<{ calls: number }> {
  const known = [script, 'attemptComplete', 'attemptFail', 'attemptRelease'] as const;
  await Promise.all(known.map((name) => redis.script('LOAD', luaScripts[name])));
  const sha = createHash('sha1').update(luaScripts[script]).digest('hex');
  const seen = { calls: 0 };
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    if (command.name === 'evalsha' && command.args[0] === sha) {
      command.args[0] = seen.calls++ === 0 ? '0'.repeat(40) : sha;
    }
    return send(command, stream);
  };
  return seen;
}

/** Runs a job whose handler sends values of one report without waiting for each of them. */
async function run(
  kind: keyof typeof REPORTS,
  values: readonly string[],
  end: (job: Job, sent: Promise<void>[]) => unknown,
) {
  const redis = connect();
  const queue = newQueue({}, redis);
  const seen = await forgetOnce(redis, REPORTS[kind].script);
  const worker = await startWorker(queue, (job) => {
    const sent = values.map((value) => REPORTS[kind].send(job, value));
    return end(job, sent);
  });
  const { id } = await queue.enqueue({});
  await Promise.race(Object.values(ENDS).map(({ event }) => worker.event(event)));
  const { status, log, progress, checkpoint } = (await queue.get(id))!;
  return { status, log: log.map(({ message }) => message), progress, checkpoint, calls: seen.calls };
}

const KINDS = Object.keys(REPORTS) as (keyof typeof REPORTS)[];

it.each(KINDS.flatMap((kind) => Object.keys(ENDS).map((end) => [kind, end as keyof typeof ENDS] as const)))(
  'a %s that is sent again is stored before the %s of its job',
  async (kind, end) => {
    const job = await run(kind, ['sent'], ENDS[end].end);
    expect(job[kind]).toEqual(kind === 'log' ? ['sent'] : 'sent');
    expect(job.status).toBe(ENDS[end].status);
  },
);

it.each(KINDS)('a %s that is sent again stays before the next one', async (kind) => {
  const job = await run(kind, ['first', 'second'], (_job, sent) => Promise.all(sent).then(() => undefined));
  expect(job[kind]).toEqual(kind === 'log' ? ['first', 'second'] : 'second');
});

it.each(KINDS)('values of %s that wait for their turn share a call', async (kind) => {
  const values = Array.from({ length: 250 }, (_, i) => `value ${i}`);
  const job = await run(kind, values, () => undefined);
  expect(job[kind]).toEqual(kind === 'log' ? values.slice(-100) : values.at(-1));
  expect(job.calls).toBe(2);
});

it('a stop waits for the last reports and the end of their job', async () => {
  const redis = connect();
  const queue = newQueue({}, redis);
  await forgetOnce(redis, 'attemptLog');
  let stopped: Promise<void> | undefined;
  const worker = await startWorker(queue, (job) => {
    void job.log('sent');
    stopped = worker.worker.stop();
  });
  const { id } = await queue.enqueue({});
  await worker.event('completed');
  await stopped;
  expect(await queue.get(id)).toMatchObject({ status: 'completed', log: [{ message: 'sent' }] });
});

it('a report that fails does not keep the end of its job', async () => {
  const redis = connect();
  const queue = newQueue({}, redis);
  const worker = await startWorker(queue, (job) => {
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = () => Promise.reject(new Error('lost'));
    void job.log('lost');
    redis.sendCommand = send;
  });
  const { id } = await queue.enqueue({});
  await worker.event('completed');
  expect((await queue.get(id))!.log).toEqual([]);
});
