import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, JobHandler, type PayloadOf } from 'nest-job-queue';
import { Sleep } from './jobs.js';

@JobHandler(Sleep)
export class SleepHandler {
  async handle({ payload, signal }: Job<PayloadOf<typeof Sleep>>): Promise<void> {
    if (payload.ms < 0) {
      throw new RangeError('nobody sleeps backwards');
    }
    await sleep(payload.ms, undefined, { signal });
  }
}
