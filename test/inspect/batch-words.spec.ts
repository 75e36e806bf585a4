import { expect, it } from '@jest/globals';
import { batchInWords, followUpInWords } from '#inspect/batch-words.js';
import type { BatchFollowUp, BatchRecord } from '#queue/model/batch.js';

const batch = (over: Partial<BatchRecord>): BatchRecord => ({
  id: 'b',
  queue: 'home',
  followUps: [],
  state: 'fired',
  stopped: false,
  total: 2,
  open: 0,
  completed: 2,
  failed: 0,
  cancelled: 0,
  removed: 0,
  createdAt: new Date(0),
  ...over,
});
const followUp = (kind: BatchFollowUp['kind'], over: Partial<BatchFollowUp> = {}): BatchFollowUp => ({
  kind,
  queue: 'mail',
  id: 'f',
  ...over,
});

it.each<[string, Partial<BatchRecord>, BatchFollowUp]>([
  ['waits for the batch', { state: 'open' }, followUp('then')],
  ['waits for the batch', { state: 'sealed', open: 1 }, followUp('finally')],
  ['on its way', {}, followUp('then', { isOnItsWay: true })],
  ['no longer known', {}, followUp('then')],
  ['no longer known', {}, followUp('finally')],
  ['not for this end', {}, followUp('onFailure')],
  ['not for this end', { completed: 1, failed: 1 }, followUp('then')],
  ['no longer known', { completed: 1, failed: 1 }, followUp('onFailure')],
  ['no longer known', { stopped: true }, followUp('then')],
  ['no longer known', { stopped: true }, followUp('onFailure')],
  ['not for this end', { stopped: true, completed: 1, cancelled: 1 }, followUp('then')],
  ['not for this end', { total: 12, completed: 2, failed: 10 }, followUp('then')],
])('a follow-up is "%s" of a batch with %j', (words, over, each) => {
  expect(followUpInWords(batch(over), each)).toBe(words);
});

it.each<[string, Partial<BatchRecord>]>([
  ['All 2 jobs have ended.', {}],
  ['It had no jobs.', { total: 0, completed: 0 }],
  ['Its one job has ended, and so has what was to follow.', { total: 1, followUps: [followUp('then')] }],
])('says "%s" of an ended batch with %j', (words, over) => {
  expect(batchInWords(batch({ state: 'ended', ...over }))).toBe(words);
});

it.each<[string, Partial<BatchRecord>]>([
  [
    'Jobs may still join; 1 of 2 jobs has not ended. Nothing follows before it is sealed.',
    { state: 'open', open: 1 },
  ],
  ['It waits for its jobs: 2 of 2 jobs have not ended.', { state: 'sealed', open: 2 }],
  ['It was stopped: 0 of 2 jobs have not ended.', { state: 'sealed', stopped: true }],
  ['All 2 jobs have ended. Its follow-up was enqueued.', { followUps: [followUp('then')] }],
  [
    'All 2 jobs have ended. A follow-up is on its way to the queue mail, log.',
    {
      followUps: [followUp('then', { isOnItsWay: true }), followUp('finally', { queue: 'log', isOnItsWay: true })],
    },
  ],
])('says "%s" of a batch with %j', (words, over) => {
  expect(batchInWords(batch(over))).toBe(words);
});

it('names only the queues of follow-ups that may be shown', () => {
  const sent = batch({ followUps: [followUp('then', { isOnItsWay: true }), followUp('finally')] });
  expect(batchInWords(sent)).toContain('A follow-up is on its way to the queue mail.');
  expect(batchInWords(sent, new Set(['mail']))).toBe(batchInWords(sent));
  expect(batchInWords(sent, new Set(['home']))).toContain('A follow-up is on its way to another queue.');
});

it('a follow-up whose job is there has the state of its job', () => {
  expect(followUpInWords(batch({ state: 'ended' }), followUp('then'), 'completed')).toBe('completed');
});
