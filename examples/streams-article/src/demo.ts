// The article's demo: four worker processes, jobs that sleep and jobs that calculate, their results awaited here.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, JobQueueService } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import { AppModule } from './app.module.js';
import { Fibonacci, Sleep } from './jobs.js';

@Module({ imports: [JobQueueModule.forRoot({ worker: false })] })
class CallerModule {}

const WAIT = { timeoutMs: 120_000 };
const [scale = '1'] = process.argv.slice(2); // 0.1: a tenth of the work

const workers = await runWorkers(AppModule, {
  processes: 4,
  entry: new URL('./worker.js', import.meta.url),
  ownsProcess: false,
  logger: ['error'],
});
const app = await NestFactory.createApplicationContext(CallerModule, { logger: ['error'] });
const jobs = app.get(JobQueueService);

console.log('Four jobs that sleep and four that calculate, in four processes:');
const start = performance.now();
const sleeping = await jobs.enqueueMany(
  Sleep,
  [2_000, 3_000, 4_000, 5_000].map((ms) => ({ payload: { ms: ms * Number(scale) } })),
);
const places = [100_000, 200_000, 300_000, 400_000].map((n) => Math.round(n * Number(scale)));
const calculating = await jobs.enqueueMany(
  Fibonacci,
  places.map((n) => ({ payload: { n } })),
);
for (const [i, job] of calculating.entries()) {
  const digits = await job.result(WAIT);
  console.log(`  F(${places[i]}) ends with ${digits.slice(-6)}, ${digits.length} digits`);
}
await Promise.all(sleeping.map((job) => job.result(WAIT)));
console.log(`  ${Math.round(performance.now() - start)} ms in all`);

await workers.resize(0); // waits for what runs
console.log('All workers have stopped.');
const late = await jobs.enqueue(Sleep, { ms: 2_000 * Number(scale) });
await workers.resize(4);
console.log('Workers are running again.');
await workers.whenReady();
await late.result(WAIT);
console.log('What was enqueued meanwhile is done.');

const doomed = await jobs.enqueue(Sleep, { ms: -1 });
await doomed.result(WAIT).catch((error: Error) => console.log(`An error comes to the caller: ${error.message}`));

console.log('What was done, the newest first, and by whom:');
for (const { name } of [Sleep, Fibonacci]) {
  for (const job of await jobs.queue(name).list('completed')) {
    const took = Number(job.completedAt) - Number(job.claimedAt);
    console.log(`  ${name} ${JSON.stringify(job.payload)}: ${took} ms, by ${job.worker}`);
  }
}

await app.close();
const { exitCode } = await workers.stop();
console.log('All processes have stopped.');
process.exitCode = exitCode;
