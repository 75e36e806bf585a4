import { expect, it } from '@jest/globals';
import { OldPlace } from '#migrate/queue/places.js';
import { newQueue } from '../../../support/worker/workers.js';

it('pauses the queue, and draws a larger fence for each mover of one source', async () => {
  const queue = newQueue();
  await queue.enqueue(1);
  const first = await (await OldPlace.of(queue, 'there')).begin('ada');
  const second = await (await OldPlace.of(queue, 'there')).begin('ada');
  expect(second).toEqual({
    right: { source: first.right.source, fence: first.right.fence + 1 },
    wasPaused: false,
  });
  expect(await queue.claim()).toBeNull();
  expect(await queue.stats()).toMatchObject({ pausedBy: 'ada', pauseReason: 'This queue moves to there.' });
});

it('remembers that the queue was paused before', async () => {
  const queue = newQueue();
  await queue.pause({ by: 'eve' });
  expect((await (await OldPlace.of(queue, 'there')).begin('ada')).wasPaused).toBe(true);
  expect((await queue.stats()).pausedBy).toBe('eve');
});
