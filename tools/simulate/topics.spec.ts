// Each subscription of a topic gets each publication once. Meanwhile processes die, a deploy moves one, and the register is lost.
// A named seed finds each planted fault.
import { expect, it } from '@jest/globals';
import { someOf } from '../../test/support/run/samples.js';
import { edit, type Edit } from './plants/plant.js';
import { published } from './topics.js';

/** The faults of the scripts, each with what it breaks. */
const PLANTS: Record<string, [breaks: string, edits: readonly Edit[]]> = {
  'a worker of the old version moves a subscription back': [
    'subscription b was moved back',
    [edit('topicDeclare', ' and not keeps_known', '')],
  ],
  'a declaration forgets the subscriptions of other code': [
    'missed a publication',
    [edit('topicDeclare', 'read[topic] = read[topic] or read_topic(topic)', 'read[topic] = read[topic] or {}')],
  ],
  'a removal ends all subscriptions of the topic': [
    'a publication failed by a NoSubscriptionError',
    [edit('topicRemove', 'if next(subscriptions) then', 'if false then')],
  ],
};

it.each(someOf([1, 2, 3, 4, 5, 6], 6))('each once, while processes are killed: seed %d', async (seed) => {
  expect(await published(seed)).toEqual([]);
});

it.each(someOf(Object.entries(PLANTS), 3))('finds that %s', async (_, [breaks, edits]) => {
  expect(await published(1, edits)).toContainEqual(expect.stringContaining(breaks));
});
