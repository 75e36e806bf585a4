// An app of an older version does not boot on queues that a newer version has.
import { describe, expect, it } from '@jest/globals';
import { LAYOUT } from '#queue/scripts/layout.js';
import { QueueLayoutError } from 'nest-job-queue';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, handlerOf } from '../app.js';

async function upgraded(): Promise<string> {
  const name = uniqueQueueName();
  await connect().hset(`queue:${name}:sweep`, 'layout', LAYOUT + 1);
  return name;
}

describe('an app on a queue of a newer layout does not boot', () => {
  it('with a handler of the queue', async () => {
    const app = await compileApp({ providers: [handlerOf(await upgraded())] });
    await expect(app.init()).rejects.toThrow(QueueLayoutError);
  });

  it('as a producer that names the queue', async () => {
    const app = await compileApp({ jobs: { queues: { [await upgraded()]: {} } } });
    await expect(app.init()).rejects.toThrow('Upgrade nest-job-queue in this process');
  });
});
