// One handler with a made-up job.
import { expect, it } from '@jest/globals';
import { Inject } from '@nestjs/common';
import { defineJob, InvalidOptionError, JobHandler, type Job } from 'nest-job-queue';
import { runHandler } from 'nest-job-queue/testing';
import { z } from 'zod';

const Email = defineJob('email', { payload: z.object({ to: z.string() }) });

class Mailer {
  async send(to: string): Promise<string> {
    return `sent to ${to}`;
  }
}

@JobHandler(Email, { timeoutMs: 30_000 })
class EmailHandler {
  constructor(@Inject(Mailer) private readonly mailer: Mailer) {}

  async handle(job: Job<{ to: string }>) {
    if (job.payload.to === 'nobody') throw new RangeError('no such mailbox');
    const said = await this.mailer.send(job.payload.to);
    return { said, at: new Date(0), attempt: job.attempt, of: job.maxAttempts, tenant: job.metadata.tenant };
  }
}

class Mails {
  @JobHandler('mail-later')
  later({ attempt }: Job) {
    return `later ${attempt}`;
  }

  @JobHandler('mail')
  now({ attempt }: Job) {
    return `now ${attempt}`;
  }
}

class Reports {
  @JobHandler('daily')
  daily() {
    return 'daily';
  }

  @JobHandler('weekly')
  weekly() {
    return 'weekly';
  }
}

it('makes the handler with the providers of the test, and returns its result', async () => {
  expect(await runHandler(EmailHandler, { to: 'ada' }, { providers: [Mailer] })).toEqual({
    said: 'sent to ada',
    at: new Date(0),
    attempt: 1,
    of: 1,
    tenant: undefined,
  });
});

it('takes an instance, and a job on a later attempt', async () => {
  const handler = new EmailHandler(new Mailer());
  const result = await runHandler(
    handler,
    { to: 'bob' },
    { attempt: 3, maxAttempts: 5, metadata: { tenant: 't1' } },
  );
  expect(result).toMatchObject({ said: 'sent to bob', attempt: 3, of: 5, tenant: 't1' });
});

it('runs the attempt of a job whose name begins that of another handler', async () => {
  expect(await runHandler(Mails, {}, { name: 'mail', attempt: 2, maxAttempts: 3 })).toBe('now 2');
});

it('throws the error of the handler, and runs one attempt only', async () => {
  const options = { providers: [Mailer], maxAttempts: 3 };
  await expect(runHandler(EmailHandler, { to: 'nobody' }, options)).rejects.toThrow(
    new RangeError('no such mailbox'),
  );
});

it('checks the payload by the schema of the job, as production does', async () => {
  await expect(runHandler(EmailHandler, { to: 7 }, { providers: [Mailer] })).rejects.toThrow(/payload\.to/);
});

it('asks which job where the class handles several, and refuses a class that handles none', async () => {
  expect(await runHandler(Reports, {}, { name: 'weekly' })).toBe('weekly');
  await expect(runHandler(Reports, {})).rejects.toThrow('Say which by { name }: "daily", "weekly".');
  await expect(runHandler(Reports, {}, { name: 'yearly' })).rejects.toThrow(
    'runHandler.name: expected a name that Reports handles, found "yearly".',
  );
  await expect(runHandler(Reports, {}, { name: 'yearly' })).rejects.toThrow(InvalidOptionError);
  await expect(runHandler(Mailer, {})).rejects.toThrow('runHandler(Mailer): expected one @JobHandler, found none.');
});
