// Arguments of each method of a queue: sound ones, and ones that it refuses.
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { anything, object, options, payload, text, type Parameter } from './bad-arguments.js';
import { HOURLY } from './schedules.js';

export const Greet = defineJob('greet', { payload: z.object({ to: z.string() }) });
const greeting = { to: 'ada' };
const claim = { id: 'claimed', token: 'wrong', fence: 1, options: {}, attempt: 1 };
const claimed = object(claim, {}, { ...claim, id: null }, { ...claim, token: null }, { ...claim, fence: 'x' });
const failing = object(claim, {}, { ...claim, options: null }, { ...claim, attempt: '1' });
const start = object({ delayMs: 5 }, {}, { delayMs: null }, { runAt: null }, { delayMs: 'soon' });
const status: Parameter = ['pending', [null, undefined, 5, 'waiting', {}]];
const cleanable: Parameter = ['cancelled', [null, undefined, 5, 'processing']];
const page = options({}, { limit: null }, { limit: '5' }, { offset: -1 });
const ids: Parameter = [['none'], [null, undefined, 'none', 5, {}, [null], [5]]];
const many: Parameter = [
  [{ payload: 1 }],
  [null, undefined, 5, 'text', {}, [null], [5], [{}], [{ payload: 1, id: 5 }]],
];
const greetings: Parameter = [[{ payload: greeting }], [null, undefined, 5, 'text', {}, [null], [{}]]];
const group = text('g');
const data: Parameter = [1, [() => {}, 5n, NaN]];
const entries: Parameter = [[], [null, undefined, 5, 'text', {}, [null], [5], [{}], [{ entryId: 5 }]]];
const recurrence = object(HOURLY, {}, { cron: null }, { everyMs: '5' });

/** Each method of a queue; behind a colon, other arguments that it can take. */
export const VERBS: Record<string, Parameter[]> = {
  enqueue: [payload(1), options({}, { id: null }, { unique: null })],
  'enqueue: definition': [anything(Greet), payload(greeting), options({}, { name: 'other' })],
  enqueueMany: [many],
  'enqueueMany: definition': [anything(Greet), greetings],
  claim: [options({}, { timeoutMs: null }, { worker: null })],
  claimMany: [[1, [null, undefined, '1', {}, NaN]], options({}, { worker: 5 })],
  complete: [claimed, [1, [() => {}, 5n]]],
  fail: [failing, anything('no'), options({}, { final: 1 })],
  release: [claimed, options({}, { delayMs: null })],
  extend: [claimed, options({}, { visibilityMs: null }, { visibilityMs: '5' })],
  reclaim: [options({}, { limit: null })],
  get: [text('a')],
  list: [status, page],
  result: [text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  'result: definition': [anything(Greet), text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  stream: [text('a'), options({}, { after: null }, { after: 'x' }, { signal: 5 }, { cancelOnLeave: 1 })],
  awaitResult: [text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  cancel: [text('none')],
  onCancelled: [[() => {}, [null, undefined, 5, {}]]],
  remove: [text('none')],
  promote: [text('none')],
  update: [text('none'), payload(1)],
  'update: definition': [anything(Greet), text('none'), payload(greeting)],
  signal: [text('none'), text('ok'), data],
  'signal: definition': [anything(Greet), text('none'), text('ok'), data],
  setPriority: [text('none'), [5, [null, undefined, '5', -1, 1_001, NaN]]],
  runAgain: [text('none')],
  outcome: [text('none')],
  clean: [cleanable, options({}, { limit: null })],
  batch: [options({}, { then: 5 }, { failFast: 1 })],
  findBatch: [text('none')],
  listBatches: [options({}, { limit: null }, { offset: -1 }, { page: 1 }, { ended: 1 })],
  workers: [options({}, { silent: 1 })],
  reschedule: [text('none'), start],
  purge: [object({ confirm: 'another' }, { confirm: null })],
  doctor: [options({}, { repair: 1 })],
  'schedules.upsert': [text('s'), recurrence, options({}, { name: 5 }, { definition: {} })],
  'schedules.list': [page],
  'schedules.get': [text('none')],
  'schedules.pause': [text('none')],
  'schedules.resume': [text('none')],
  'schedules.remove': [text('none')],
  'schedules.runNow': [text('none')],
  'schedules.tick': [options({}, { limit: null })],
  'deadLetters.list': [options({}, { name: null }, { cursor: 5 })],
  'deadLetters.get': [text('none')],
  'deadLetters.redrive': [text('none'), options({})],
  'deadLetters.redrive: definition': [anything(Greet), text('none'), options({})],
  'deadLetters.redriveAsNew': [text('none'), options({})],
  'deadLetters.redriveMany': [ids],
  'deadLetters.redriveAll': [options({}, { name: 5 }, { filter: {} })],
  'deadLetters.discard': [text('none')],
  'deadLetters.discardAll': [options({}, { name: 5 }, { filter: {} })],
  pause: [options({}, { by: 5 }, { reason: null }, { forMs: 0 }, { forMs: '2h' })],
  sharedLimit: [['partner', [null, undefined, 5, {}, '', 'a b']]],
  'limits.set': [object({}, { maxRunning: 0 }, { rateLimit: null }, { maxPending: '5' })],
  'limits.change': [object({}, { maxRunning: 0 }, { rateLimit: { burst: 2 } }, { groups: 5 })],
  'groups.list': [options({}, { by: 'name' }, { limit: null }, { offset: -1 })],
  'groups.get': [group],
  'groups.set': [group, object({}, { maxRunning: 0 }, { weight: null })],
  'groups.clear': [group],
  'groups.pause': [group, options({}, { by: 5 })],
  'groups.resume': [group],
  'groups.clean': [group, options({}, { limit: null }, { olderThanMs: '5' })],
  'history.read': [options({}, { lastMs: null }, { stepMs: 5 })],
  'auditTrail.read': [options({}, { after: 5 }, { limit: null })],
  'auditTrail.latest': [options({}, { limit: null }, { after: '1-0' })],
  'auditTrail.take': [object({ group: 'g', consumer: 'c' }, {}, { group: 5, consumer: 'c' }, { group: 'g' })],
  'actionLog.latest': [options({}, { limit: null }, { before: 5 }, { action: 5 }, { by: '' }, { via: 'web' })],
  'auditTrail.acknowledge': [text('g'), entries],
};
