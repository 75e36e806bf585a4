import { expect, it } from '@jest/globals';
import { queuesOfLimit, sharedLimitViews } from '#dashboard/live/shared-limits-view.js';
import type { QueueSigns } from '#inspect/queue-signs.js';

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
