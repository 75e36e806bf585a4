// A proxy that mixes the replies of two calls: each call refuses the reply of another by a named error.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import {
  type CommandCall,
  ReplyDecodeError,
  ScriptRunner,
  type ScriptCall,
} from '#queue/transport/script-runner.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { connect } from '../../support/redis/redis.js';
import { sealed, sealedError } from '../../support/queue/unsealed.js';

const claim = { id: 'a', token: 't', fence: 1 } as ClaimedJob;
const failure = { ...claim, error: sealedError({ name: 'Error', message: 'no' }), final: true, backoffMs: 0 };
const release = { ...claim, reason: 'interruption' as const, delayMs: 0 };

const BATCH = { id: 'b', hasOwnId: true, failFast: false, resultTtlMs: 1, recordTtlMs: 1, followUps: [] };
const SCHEDULE = {
  id: 's',
  version: '1',
  recurrence: { everyMs: 1 },
  name: 'n',
  payload: sealed('1'),
  options: {},
  onMissed: 'skip' as const,
  missedAfterMs: 1,
};

const scripts = await inside(coreQueue().queue).scripts();
const REPLIES: [string, ScriptCall<unknown>, unknown[]][] = [
  ['claim', scripts.claim({ count: 1, token: 't', worker: 'w', stream: '0' }), [null, 1, 'retry', ['retry'], []]],
  ['complete', scripts.complete([{ ...claim, result: '' }]), ['retry', ['retry'], [2], 1]],
  ['fail', scripts.fail([failure]), [null, 1, ['released'], [], ['retry', 'retry']]],
  ['release', scripts.release([release]), [null, 1, ['retry'], []]],
  ['extend', scripts.extend([claim]), [null, 1, ['a', 'retry'], ['a']]],
  ['start', scripts.start([claim]), [null, ['retry'], [1, 1], 'retry']],
  ['register', scripts.workers.register({ worker: 'w', serves: true }), [null, ['retry'], 'retry']],
  ['remove', scripts.remove({ id: 'a' }), [null, 'retry', ['removed']]],
  ['cancel', scripts.cancel({ id: 'a' }), [null, 'retry', 1]],
  ['stats', scripts.stats(), [null, 1, 'retry', [], ['a', 'b'], ['now_ms'], [['now_ms', 1]]]],
  ['list', scripts.list({ status: 'pending', offset: 0, limit: 1 }), [null, 1, ['a'], ['a', 'retry'], [1, null]]],
  [
    'find',
    scripts.find({ status: 'pending', query: { place: 0, looks: 1, skip: 0, most: 1 } }),
    [null, 1, ['a', 'b'], [0, 0, 'a']],
  ],
  ['clean', scripts.clean({ place: 'pending', olderThanMs: 0, limit: 1, passed: 0 }), [null, 1, [1], ['a', 'b']]],
  ['purge', scripts.purge({ limit: 1 }), [null, 1, [1], ['a', 'b']]],
  ['pause', scripts.pause(), [null, 'retry', 2, [1]]],
  ['drained', scripts.publishDrained(), [null, 1, 'retry']],
  ['ends of a shard', scripts.lookDrained(), [null, ['1 0 0']]],
  ['unserved', scripts.unserved({ jobs: [] }), [null, 1, [1, 2, 3], [[], 'a', []]]],
  ['handler limits', scripts.workers.handlerLimits({ name: 'a' }), [[], ['a']]],
  ['workers', scripts.workers.list({ most: 1 }), [null, 1, ['a'], [['a', 'b']], [['a', [], 'c']]]],
  [
    'dead letters',
    scripts.deadLetters.list({ order: 'newest', looks: 1, most: 1, withJobs: true }),
    [null, 1, [1, 'a'], [1, 'a', 'b', 'c']],
  ],
  ['redrive', scripts.deadLetters.redrive({ ids: ['a'] }), [null, 'retry', [1]]],
  ['groups', scripts.groups.list({ by: 'depth', offset: 0, limit: 1 }), [null, 1, [], [1, 'a'], ['a']]],
  ['group pause', scripts.groups.pause({ name: 'a' }), [null, 'retry', [1]]],
  ['limits', scripts.limits.get(), [null, 1, [], ['a'], 'retry']],
  [
    'reclaim',
    scripts.sweep.reclaim({ limit: 1, gapMs: 0, waitMs: 0 }),
    [null, 1, [], ['1', 'a'], ['1', 'a', 'completed', 'w']],
  ],
  [
    'reclaim-worker',
    scripts.sweep.reclaimWorker({ worker: 'w', cursor: '0', limit: 1 }),
    [null, [], [[]], ['0', 'a', 'completed', 'w']],
  ],
  ['promote', scripts.sweep.promote({ limit: 1 }), [null, 'retry', [1]]],
  ['adopt', scripts.sweep.adoptForeign({ limit: 1 }), [null, 1, [1], [0, 0, 0, 'a']]],
  ['tidy', scripts.sweep.tidy({ limit: 1 }), [null, 1, [1], ['a', 'b']]],
  [
    'maintain',
    scripts.sweep.maintainBatches({ limit: 1, all: false }),
    [1, 'retry', [0, 0], [0, 0, 'a', [], []], [0, 0, [], ['a'], []]],
  ],
  ['create a batch', scripts.batches.create(BATCH), [null, 1, 'retry', ['created']]],
  ['join', scripts.batches.join({ id: 'b', members: [] }), [null, 'created', 1]],
  ['known', scripts.batches.known({ id: 'b', members: ['m'] }), [null, 1, ['retry'], ['known', 'new']]],
  ['seal', scripts.batches.seal({ id: 'b' }), [null, 'created', 1]],
  ['stop', scripts.batches.stop({ id: 'b' }), [null, 'created', 1]],
  ['batch', scripts.batches.status({ id: 'b' }), [1, 'retry', [], [1, 2]]],
  ['batches', scripts.batches.list({ offset: 0, limit: 1 }), [null, 1, ['a'], [['a']]]],
  ['results', scripts.batches.results({ id: 'b', offset: 0, limit: 1 }), [1, 'retry', ['a'], [0, 'a']]],
  ['outbox', scripts.batches.outbox({ limit: 1 }), [null, 1, ['a'], ['a', 'b']]],
  ['deliver', scripts.batches.deliver({ from: 'q', ends: [] }), [null, 'retry', [1]]],
  ['ends', scripts.batches.ends({ home: 'q', members: [] }), [null, 1, ['a'], [[1], 2, 3, 4, 5]]],
  ['open members', scripts.batches.openMembers({ batches: 1, members: 1 }), [null, 1, ['a']]],
  ['upsert', scripts.schedules.upsert({ schedule: SCHEDULE }), [null, 1, ['retry', 1], ['created']]],
  ['due', scripts.schedules.due({ limit: 1 }), [null, 1, [1], [1, 2, 0, 'a']]],
  ['tick', scripts.schedules.tick({ ticks: [] }), [null, 1, ['enqueued']]],
  ['run', scripts.schedules.run({ id: 's', jobId: 'j' }), [null, 'added', ['retry']]],
  ['pause a schedule', scripts.schedules.pause({ id: 's' }), [null, 1, 'retry']],
  ['resume a schedule', scripts.schedules.resume({ id: 's' }), [null, 'resumed', ['retry'], ['next', 1]]],
  ['remove a schedule', scripts.schedules.remove({ id: 's' }), [null, 1, 'retry']],
  ['schedules', scripts.schedules.list({ offset: 0, limit: 1 }), [null, 1, ['a'], [['a']]]],
  ['doctor: scan', scripts.doctor.scan({ ids: ['a'] }), [null, 1, ['a'], ['a', 'retry', '']]],
  ['doctor: inspect', scripts.doctor.inspect({ ids: ['a'], repair: false }), [null, [], ['a'], [1, 'a']]],
  ['doctor: unique', scripts.doctor.unique({ uniqueKeys: ['a'], repair: false }), [null, 1, ['a']]],
  ['doctor: groups', scripts.doctor.groups({ names: ['a'], repair: false }), [null, 1, ['a']]],
  ['doctor: batches', scripts.doctor.batches({ ids: ['a'], keepMs: 1, repair: false }), [null, 1, ['a']]],
  ['doctor: counters', scripts.doctor.counters({ repair: false, exclusive: false }), [null, 1, ['a']]],
  [
    'history',
    scripts.history.read({ backMs: 1, most: 1 }),
    [null, 1, [], [1, 2, 3, 'a', 'b'], [1, '', '', [['a']], []]],
  ],
  [
    'doctor: histories',
    scripts.doctor.histories({ state: 'completed', ids: ['a'], repair: false }),
    [null, [], ['a'], [1, 'a']],
  ],
  ['step', scripts.step({ claim, step: { name: 's', result: sealed('1') } }), [null, 1, 'lines', ['recorded']]],
  ['steps', scripts.step({ claim }), [null, 1, 'retry', 's\tnow\t1\t\n', ['lost']]],
  ['progress', scripts.progress({ claim, progress: sealed('1') }), [null, 'retry', [1]]],
];

const reader = { group: 'g', consumer: 'c' };
const READS: [string, CommandCall<unknown>, unknown[]][] = [
  [
    'read',
    scripts.audit.read({ after: '', limit: 1 }),
    [null, 1, 'retry', ['a'], [['a', ['id', 'x']]], [['1-0', 'a']], [['1-0', ['a']]]],
  ],
  ['latest', scripts.audit.latest({ limit: 1 }), [null, 1, [[1, []]], [['1-0', [[]]]]]],
  [
    'take',
    scripts.audit.take({ ...reader, limit: 1, idleMs: 1 }),
    [null, 1, ['0-0', 'retry'], ['0-0', [['a', []]]], [['a', []]]],
  ],
  ['acknowledge', scripts.audit.acknowledge({ group: 'g', entryIds: ['1-0'] }), [null, 'retry', [1]]],
  ['clear', scripts.audit.clear(), [null, 'retry', 2, [1]]],
];

describe.each(READS)('the audit trail: %s', (_, call, wrong) => {
  it.each(wrong.map((reply) => [JSON.stringify(reply), reply]))(
    'refuses the reply %s by name',
    async (_text, reply) => {
      const client = connect({ lazyConnect: true });
      client.status = 'ready';
      client.sendCommand = async () => reply;
      await expect(new ScriptRunner(client).run(call)).rejects.toBeInstanceOf(ReplyDecodeError);
      client.status = 'wait';
    },
  );
});

describe.each(REPLIES)('%s', (_, call, wrong) => {
  it.each(wrong.map((reply) => [JSON.stringify(reply), reply]))(
    'refuses the reply %s by name',
    async (_text, reply) => {
      const client = connect({ lazyConnect: true });
      client.status = 'ready';
      client.sendCommand = async () => reply;
      const runner = new ScriptRunner(client);
      await expect(runner.run(call)).rejects.toBeInstanceOf(ReplyDecodeError);
      expect(await runner.runTogether([call])).toEqual([{ ok: false, error: expect.any(ReplyDecodeError) }]);
      client.status = 'wait';
    },
  );
});
