// An app with the SDK of Sentry for NestJS, and nothing but what docs/sentry.md says. Its errors and spans are checked.
import { sent } from './instrument.js';
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as Sentry from '@sentry/nestjs';
import { SentryModule } from '@sentry/nestjs/setup';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  OnJobFailed,
  type Job,
  type JobFailure,
} from 'nest-job-queue';
import { sentryJobs } from 'nest-job-queue/sentry';

const name = process.env.CONSUMER ?? '';
const [mail, charge] = [`mail-${name}`, `charge-${name}`];

@JobHandler(mail, { maxAttempts: 2, backoff: 0 })
class MailHandler {
  handle({ id, payload }: Job<{ to: string }>): string {
    Sentry.setTag('tenant', id);
    if (payload.to === 'nobody') throw new Error('smtp is down', { cause: new Error('connection refused') });
    return payload.to;
  }
}

@JobHandler(charge)
class ChargeHandler {
  handle(): void {}
}

let told: () => void;
const isTold = new Promise<void>((resolve) => (told = resolve));

@Injectable()
class LostCharges {
  constructor(private readonly jobs: JobQueueService) {}

  @OnJobFailed(charge)
  async report({ payload: { id, queue, error } }: Job<JobFailure>): Promise<void> {
    const record = await this.jobs.queue(queue).get(id);
    const last = record?.attemptLog.at(-1);
    if (last?.outcome === 'error' && last.error?.name !== 'JobExpired') return; // the middleware has reported it
    Sentry.captureMessage(error, { level: 'error', tags: { queue, 'job.id': id } });
    told();
  }
}

@Controller('orders')
class Orders {
  constructor(private readonly jobs: JobQueueService) {}

  @Post()
  async order(): Promise<{ delivered: string; failed: string }> {
    const good = await this.jobs.enqueue<string>(mail, { to: 'a@b.c' });
    const bad = await this.jobs.enqueue(mail, { to: 'nobody' });
    const failed = await bad.result({ timeoutMs: 30_000 }).then(String, (error: Error) => error.message);
    return { delivered: await good.result({ timeoutMs: 30_000 }), failed };
  }
}

@Module({
  imports: [SentryModule.forRoot(), JobQueueModule.forRoot({ middleware: [sentryJobs(Sentry)] })],
  controllers: [Orders],
  providers: [MailHandler, ChargeHandler, LostCharges],
})
class AppModule {}

// Otherwise a promise that stays pending would end the process with 0.
process.exitCode = 1;
void main().then(() => (process.exitCode = 0));

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0);
  const reply = await fetch(`${await app.getUrl()}/orders`.replace('[::1]', 'localhost'), { method: 'POST' });
  const { delivered, failed } = (await reply.json()) as { delivered: string; failed: string };
  assert.equal(delivered, 'a@b.c');
  assert.match(failed, /smtp is down/);
  await expire(app.get(JobQueueService));
  await app.close();
  await Sentry.flush(5_000);
  checkErrors();
  checkSpans();
  console.log('consumer: errors and spans of jobs in Sentry');
}

/** Lets a job expire, which runs no code of the app. */
async function expire(jobs: JobQueueService): Promise<void> {
  const queue = jobs.queue(charge);
  await queue.pause();
  await jobs.enqueue(charge, {}, { expiresInMs: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await queue.resume();
  await isTold;
}

function checkErrors(): void {
  const errors = sent.filter(({ exception }) => exception);
  assert.equal(errors.length, 1, 'one event for the last failure');
  const [error] = errors;
  const causes = error.exception!.values.map(({ value }) => value);
  assert.deepEqual(causes, ['connection refused', 'smtp is down']);
  assert.equal(error.tags!['queue'], mail);
  assert.equal(error.tags!['job.attempt'], 2);
  assert.equal(error.tags!['tenant'], error.tags!['job.id']);
  const messages = sent.filter(({ message }) => message !== undefined);
  assert.deepEqual(messages.map(({ tags }) => tags!['queue']), [charge]); // prettier-ignore
}

function checkSpans(): void {
  const request = sent.find(({ spans }) => spans?.some(({ op }) => op === 'queue.publish'));
  assert.match(request?.transaction ?? '', /^POST/, 'the request has the spans of its enqueues');
  const runs = sent.filter(({ contexts }) => contexts?.trace?.op === 'queue.process');
  const ofMail = runs
    .map(({ contexts }) => contexts!.trace!)
    .filter(({ data }) => data?.['messaging.destination.name'] === mail);
  assert.equal(ofMail.length, 3, 'three attempts are three transactions');
  for (const { trace_id, data } of ofMail) {
    assert.equal(trace_id, request!.contexts!.trace!.trace_id, 'the attempts continue the trace of the request');
    assert.equal(typeof data!['messaging.message.receive.latency'], 'number');
  }
}
