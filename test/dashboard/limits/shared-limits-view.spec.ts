import { expect, it } from '@jest/globals';
import { queuesOfLimit, sharedLimitViews } from '#dashboard/live/shared-limits-view.js';
import type { QueueSigns } from '#inspect/queue-signs.js';
import { shardNames } from '#queue/model/spread.js';

const limit = (name: string, queues: string[]) => ({
  name,
  queues,
  holders: [{ queue: `${name}-holds`, running: 1 }],
  waiting: [`${name}-waits`],
  rateLimit: [],
});
const QUEUES = [
  { queue: 'first', sharedLimits: [limit('partner-api', ['x'])] },
  { queue: 'second', sharedLimits: [limit('api', ['y']), limit('api-2', ['z'])] },
] as unknown as Pick<QueueSigns, 'queue' | 'sharedLimits'>[];

it('a change touches the queues of that limit, and none of one whose name begins or ends with it', () => {
  expect(queuesOfLimit('api', QUEUES)).toEqual(['second', 'y', 'api-holds', 'api-waits']);
});

it('the limits are shown by name', () => {
  expect(sharedLimitViews(QUEUES).map(({ name }) => name)).toEqual(['api', 'api-2', 'partner-api']);
});

it('a queue with shards is shown once, with the permits of all shards and each worker once', () => {
  const shards = shardNames('ingest', 2);
  const holders = shards.flatMap((queue) => ['a', 'b'].map((worker) => ({ queue, worker, permits: 2 })));
  const sharedLimits = [{ ...limit('api', shards), holders, waiting: shards }];
  const read = shards.map((queue) => ({ queue, sharedLimits })) as unknown as typeof QUEUES;
  expect(sharedLimitViews(read)).toMatchObject([
    { queues: ['ingest'], waiting: ['ingest'], holders: [{ queue: 'ingest', permits: 8, workers: 2 }] },
  ]);
});
