// The article's flow: jobs that go well, fail, and kill their workers; then the dead letters, looked at and redriven.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, JobQueueService } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import { AppModule } from './app.module.js';
import { SendEmail } from './jobs.js';

@Module({ imports: [JobQueueModule.forRoot({ worker: false, audit: 'off' })] })
class ProducerModule {}

const WAIT = { timeoutMs: 120_000 };

const workers = await runWorkers(AppModule, {
  processes: 2,
  entry: new URL('./worker.js', import.meta.url),
  ownsProcess: false,
  restartDelayMs: 100,
  logger: ['error', 'warn'],
});
const app = await NestFactory.createApplicationContext(ProducerModule, { logger: ['error', 'warn'] });
const jobs = app.get(JobQueueService);

const mails = [
  { to: 'ada@example.com' },
  { to: 'grace@example.com', trouble: 'error', times: 1 }, // tried again after the backoff
  { to: 'edsger@example.com', trouble: 'crash', times: 1 }, // reclaimed when its claim has expired
  { to: 'alan@example.com', trouble: 'crash', times: 9 }, // whoever takes it dies of it
] as const;
const handles = await jobs.enqueueMany(
  SendEmail,
  mails.map((payload) => ({ payload })),
);
await Promise.allSettled(handles.map((job) => job.result(WAIT)));

for (const [i, job] of handles.entries()) {
  const { status, attempts, attemptLog } = (await job.get())!;
  console.log(
    `\nThe mail to ${mails[i]?.to}: ${status} after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
  );
  for (const { attempt, outcome, worker, error } of attemptLog) {
    console.log(`  attempt ${attempt}, worker ${worker}: ${outcome}${error ? `, ${error.message}` : ''}`);
  }
}

const letters = jobs.queue(SendEmail.name).deadLetters;
for (const { id, payload, lastError } of (await letters.list()).jobs) {
  console.log(`\nDead letter ${id}: ${lastError}`);
  await letters.redrive(id, { payload: { to: (payload as { to: string }).to } });
  const { sentBy } = await jobs.result(SendEmail, id, WAIT);
  console.log(`Repaired and redriven: sent by process ${sentBy}`);
}

await app.close();
const { exitCode } = await workers.stop();
process.exitCode = exitCode;
