// The article's demo: four worker processes, jobs that sleep and jobs that calculate, their results awaited here.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, JobQueueService, runWorkers, type JobHandle } from 'nest-job-queue';
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
  logger: ['error', 'warn'],
});
const app = await NestFactory.createApplicationContext(CallerModule, { logger: ['error', 'warn'] });
const jobs = app.get(JobQueueService);

const sleeps = [1_000, 2_000, 3_000, 4_000].map((ms) => ms * Number(scale));
await timed(`sleep ${sleeps.join(', ')} ms`, async () => {
  const handles = await jobs.enqueueMany(
    Sleep,
    sleeps.map((ms) => ({ payload: { ms } })),
  );
  return Promise.all(handles.map((job) => job.result(WAIT)));
});

const places = [100_000, 200_000, 300_000, 400_000].map((n) => Math.round(n * Number(scale)));
const numbers = await timed(`Fibonacci numbers ${places.join(', ')}`, async () => {
  const handles = await jobs.enqueueMany(
    Fibonacci,
    places.map((n) => ({ payload: { n } })),
  );
  return Promise.all(handles.map((job: JobHandle<string>) => job.result(WAIT)));
});
numbers.forEach((digits, i) => {
  console.log(`  F(${places[i]}) = ${digits.slice(0, 8)}…${digits.slice(-8)}, ${digits.length} digits`);
});

const doomed = await jobs.enqueue(Sleep, { ms: -1 });
await doomed.result(WAIT).catch((error: Error) => console.log(`An error comes to the caller: ${error.message}`));

await app.close();
const { exitCode } = await workers.stop();
console.log('All processes have stopped.');
process.exitCode = exitCode;

async function timed<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  const start = performance.now();
  const value = await work();
  console.log(`${what}: ${Math.round(performance.now() - start)} ms in all`);
  return value;
}
