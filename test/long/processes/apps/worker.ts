// An app of the tests, run in worker processes: what its handler does is what the job says.
import { Module } from '@nestjs/common';
import { type Job, JobHandler, JobQueueModule } from 'nest-job-queue';
import { JobQueueMetricsModule } from 'nest-job-queue/metrics';
import { runWorkers, type RunWorkersOptions } from 'nest-job-queue/workers';

interface Order {
  do: 'answer' | 'log' | 'block' | 'exit' | 'wait' | 'tell' | 'sum up';
  ms?: number;
}

const queue = process.env.TEST_QUEUE!;

@JobHandler(queue, { concurrency: 1, visibilityMs: 60_000 })
class Handler {
  async handle({ payload, metadata, batch }: Job<Order>) {
    if (payload.do === 'block') {
      for (;;);
    }
    if (payload.do === 'exit') {
      process.exit(7);
    }
    if (payload.do === 'log') {
      console.log('printed\nin two lines');
      console.error('an error line');
    }
    if (payload.do === 'wait') {
      console.log('the job waits');
      await new Promise((resolve) => setTimeout(resolve, payload.ms));
      console.log('the job is done');
    }
    if (payload.do === 'tell') {
      process.send!({ greeting: process.env.TEST_GREETING });
    }
    if (payload.do === 'sum up') {
      const { members, next } = await batch!.results({ limit: 1 });
      const ids = [];
      for await (const { id, status } of batch!.members()) ids.push(`${id} ${status}`);
      return { pid: process.pid, batch: batch!.id, first: members[0], next, ids };
    }
    return { pid: process.pid, args: process.argv.slice(2), metadata };
  }
}

@Module({
  imports: [
    JobQueueModule.forRoot({ shutdownTimeoutMs: 3_000, worker: !process.env.TEST_PRODUCER_ONLY }),
    ...(process.env.TEST_METRICS ? [JobQueueMetricsModule.forRoot()] : []),
  ],
  providers: [Handler],
})
class AppModule {
  constructor() {
    if (process.env.TEST_FAIL_BOOT) {
      throw new TypeError('no such thing');
    }
  }

  /** Keeps the app open forever, if the test asks for it. */
  onModuleDestroy() {
    if (process.env.TEST_NEVER_CLOSE) {
      console.log('closing, without an end');
      return new Promise(() => undefined);
    }
    return undefined;
  }

  async onModuleInit() {
    if (process.env.TEST_NEVER_BOOT) {
      console.log('booting, without an end');
      await new Promise(() => undefined);
    }
  }
}

if (process.env.TEST_FAIL_IMPORT && process.send) {
  throw new TypeError('no such import');
}

if (process.env.TEST_LATE_IMPORT && process.send) {
  console.log(`importing in ${process.pid}`);
  await new Promise((resolve) => process.once('disconnect', resolve));
}

process.on('message', (message: { ask?: string }) => {
  if (message.ask !== undefined) process.send!({ asked: message.ask });
});

const options = JSON.parse(process.env.TEST_OPTIONS ?? '{}') as RunWorkersOptions;
const workers = await runWorkers(AppModule, { processes: 2, restartDelayMs: 10, ...options });
console.log(`ready: ${JSON.stringify(workers.status())}`);
