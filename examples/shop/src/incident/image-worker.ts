// The processes of the incident's deadly queue. Some of its jobs end theirs.
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { JobHandler, JobQueueModule, type Job } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import { VERSION } from './incident-backlog.js';
import type { Order } from './incident-handlers.js';
import { DEADLY_QUEUE } from './incident-queues.js';

/** The number of jobs of which one has a picture that is too large. */
const DEADLY = 60;

@Injectable()
class ImageHandler {
  @JobHandler(DEADLY_QUEUE, { concurrency: 2, maxAttempts: 5, maxCrashes: 3 })
  async draw({ payload, signal }: Job<Order>) {
    await wait(80, undefined, { signal });
    if (payload.order % DEADLY === 0) {
      setImmediate(() => {
        throw new RangeError('Array buffer allocation failed: picture of 80000 x 60000 px');
      });
      await wait(1_000, undefined, { signal });
    }
    return 'drawn';
  }
}

@Module({
  imports: [JobQueueModule.forRoot({ audit: 'off', logFailures: false, version: VERSION })],
  providers: [ImageHandler],
})
class ImageModule {}

await runWorkers(ImageModule, { processes: 1 });
