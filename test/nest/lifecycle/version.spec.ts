// The version of the app, from forRoot to the mark of a deploy.
import { expect, it } from '@jest/globals';
import { JobHandler, JobQueueService } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { startApp } from '../app.js';

const QUEUE = uniqueQueueName('deployed');

@JobHandler(QUEUE)
class Handler {
  handle(): void {}
}

it.each([{ everyMs: 1_000 }, false] as const)(
  'forRoot({ version }) is a mark in the history, with maintenance: %j',
  async (maintenance) => {
    const version = maintenance ? 'v-kept' : 'v-plain';
    const app = await startApp({ providers: [Handler], jobs: { version, maintenance } });
    const jobs = app.get(JobQueueService);
    const marks = async () => (await jobs.queue(QUEUE).history.read()).marks;
    await eventually(async () => (await marks()).some((mark) => mark.version === version), { timeoutMs: 20_000 });
    expect((await marks()).filter((mark) => mark.version === version)).toMatchObject([{ kind: 'deploy', version }]);
  },
);
