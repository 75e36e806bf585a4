// job.step: what a later attempt does not run again.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted } from '#queue/codec/encrypted.js';
import { ClaimLostError } from '#queue/errors/errors.js';
import type { ClaimedJob } from '#queue/model/job.js';
import { InvalidStepError } from '#worker/handlers/job-steps.js';
import { Job } from '#worker/handlers/job.js';
import { QueueReporter } from '#worker/attempt/queue-reporter.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { sealed } from '../../support/queue/unsealed.js';

/** Runs one job to its end with this handler. Returns its record, and the errors of its attempts. */
async function runJob(handle: (job: Job) => unknown) {
  const queue = newQueue({ maxAttempts: 3, backoff: 0 });
  const worker = await startWorker(queue, { handle });
  const job = await queue.enqueue({});
  const result: unknown = await job.result().catch((error: unknown) => error);
  await worker.worker.stop();
  return { queue, job, result, record: (await job.get())! };
}

onEachStore('job.step', () => {
  it('runs a step once over all attempts, and returns its recorded result', async () => {
    const ran: string[] = [];
    const { result, record, queue, job } = await runJob(async (own) => {
      const charge = await own.step('charge', async ({ idempotencyKey, signal }) => {
        ran.push(`charge ${signal.aborted}`);
        return { idempotencyKey, at: new Date(0), left: undefined };
      });
      const [a, b] = await Promise.all(
        ['a', 'b'].map((name) => own.step(`mail ${name}`, () => void ran.push(name))),
      );
      if (own.attempt < 3) throw new Error('again');
      return { charge, a, b };
    });
    expect(ran).toEqual(['charge false', 'a', 'b']);
    const idempotencyKey = `${queue.name}:${job.id}:charge`;
    expect(result).toEqual({ charge: { idempotencyKey, at: '1970-01-01T00:00:00.000Z' } });
    expect(record.steps).toEqual(
      ['charge', 'mail a', 'mail b'].map((name) => ({ name, attempt: 1, at: expect.any(Date) })),
    );
  });

  it('is kept through a snooze, and gives the same value in the first attempt and in later ones', async () => {
    const seen: unknown[] = [];
    await runJob(async (job) => {
      seen.push(await job.step('date', () => new Date(0)));
      if (seen.length === 1) job.snooze(1);
    });
    expect(seen).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z']);
  });

  it('records nothing of a step that throws, which may run again in the same attempt', async () => {
    let ran = 0;
    const { result, record } = await runJob(async (job) => {
      const once = () => job.step('flaky', () => (++ran % 2 === 1 ? Promise.reject(new Error('no')) : ran));
      return once().catch(once);
    });
    expect([result, ran, record.attempts]).toEqual([2, 2, 1]);
  });

  it.each<[string, (job: Job) => Promise<unknown>, string]>([
    ['a name twice', (job) => Promise.all([job.step('a', () => 1), job.step('a', () => 2)]), 'In a loop'],
    ['a step inside of a step', (job) => job.step('a', () => job.step('b', () => 1)), 'one inside of "a"'],
    ['a name that is none', (job) => job.step('a\tb', () => 1), '1 to 128 characters'],
    ['no function', (job) => job.step('a', 1 as never), 'a function'],
    ['a result of too many bytes', (job) => job.step('a', () => 'x'.repeat(65_535)), '65536 bytes, found 65537'],
    [
      'too many steps',
      async (job) => {
        for (let i = 0; i <= 256; i++) await job.step(`s${i}`, () => i);
      },
      'at most 256 steps',
    ],
  ])('refuses %s, without a retry', async (_, handle, why) => {
    const { result, record } = await runJob(handle);
    expect(String(result)).toContain(why);
    expect(record).toMatchObject({ status: 'failed', attempts: 1 });
  });

  it('forgets the steps of a job that runs again, and of one with another payload', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const job = await queue.enqueue({});
    const claim = (await queue.claim())!;
    await queue.exec((calls) => calls.step({ claim, step: { name: 'a', result: sealed('1') } }));
    await queue.complete(claim);
    expect((await job.get())!.steps).toHaveLength(1);
    await queue.runAgain(job.id);
    expect(await job.get()).not.toHaveProperty('steps');
    const again = (await queue.claim())!;
    await queue.exec((calls) => calls.step({ claim: again, step: { name: 'a', result: sealed('1') } }));
    await queue.release(again);
    await queue.update(job.id, { other: true });
    expect(await job.get()).not.toHaveProperty('steps');
  });

  it('is refused to an attempt that lost its claim, before its body or behind it: nothing is recorded', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    let lost = 0;
    const reporter = new QueueReporter(queue, await queue.calls(), { drop() {} }, () => lost++);
    const claimed = async () => {
      const claim = (await queue.claim())!;
      return { claim, job: new Job(claim, reporter) };
    };
    const first = await claimed();
    const behind = first.job.step('a', async () => queue.release(first.claim));
    await expect(behind).rejects.toBeInstanceOf(ClaimLostError);
    let ran = 0;
    const second = await claimed();
    await queue.release(second.claim);
    await expect(second.job.step('a', () => ran++)).rejects.toBeInstanceOf(ClaimLostError);
    expect([ran, lost]).toEqual([0, 2]);
    expect(await queue.get(id)).not.toHaveProperty('steps');
  });

  it('encrypts results with the codec of the queue, and reads them back', async () => {
    const codec = encrypted([{ id: 'june', key: randomBytes(32) }]);
    const queue = newQueue({ codec, maxAttempts: 2, backoff: 0 });
    const seen: unknown[] = [];
    await startWorker(queue, {
      handle: async (job) => {
        seen.push(await job.step('card', () => ({ number: 'marked secret' })));
        const claim = (job as unknown as { claim: ClaimedJob }).claim;
        if (job.attempt === 1) throw new Error(JSON.stringify(await queue.exec((calls) => calls.step({ claim }))));
      },
    });
    const job = await queue.enqueue({});
    await job.result();
    expect(seen).toEqual([{ number: 'marked secret' }, { number: 'marked secret' }]);
    expect(JSON.stringify((await job.get())!.attemptLog)).not.toContain('marked secret');
  });

  it.each(['remail', 'mailed'])(
    'refuses as the result of %s that of remailed, where a codec binds it',
    async (name) => {
      const queue = newQueue({ codec: encrypted([{ id: 'june', key: randomBytes(32) }]) });
      await queue.enqueue({});
      const claim = (await queue.claim())!;
      const reporter = new QueueReporter(queue, await queue.calls(), { drop() {} }, () => undefined);
      await reporter.recordStep(claim, 'remailed', 1);
      const [stored] = (await queue.exec((calls) => calls.step({ claim }))) as { result: string }[];
      await queue.exec((calls) => calls.step({ claim, step: { name, result: sealed(stored!.result) } }));
      await expect(reporter.steps(claim)).rejects.toThrow(`The result of step "${name}"`);
    },
  );
});

it('InvalidStepError names the step', () => {
  expect(new InvalidStepError('a', 'x', 'y')).toMatchObject({ step: 'a', code: 'INVALID_STEP' });
});
