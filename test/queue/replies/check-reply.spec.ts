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
  ['register', scripts.workers.register('w', true), [null, ['retry'], 'retry']],
  ['remove', scripts.remove({ id: 'a' }), [null, 'retry', ['removed']]],
  ['cancel', scripts.cancel({ id: 'a' }), [null, 'retry', 1]],
  ['stats', scripts.stats(), [null, 1, 'retry', [], ['a', 'b'], ['now_ms'], [['now_ms', 1]]]],
  ['list', scripts.list('pending', 0, 1), [null, 1, ['a'], ['a', 'retry'], [1, null]]],
  ['find', scripts.find('pending', { place: 0, looks: 1, skip: 0, most: 1 }), [null, 1, ['a', 'b'], [0, 0, 'a']]],
  ['clean', scripts.clean('pending', 0, 1, 0), [null, 1, [1], ['a', 'b']]],
  ['purge', scripts.purge(1), [null, 1, [1], ['a', 'b']]],
  ['pause', scripts.pause(), [null, 'retry', 2, [1]]],
  ['drained', scripts.publishDrained(), [null, 1, 'retry']],
  ['unserved', scripts.unserved([]), [null, 1, [1, 2, 3], [[], 'a', []]]],
  ['workers', scripts.workers.list(1), [null, 1, ['a'], [['a', 'b']], [['a', [], 'c']]]],
  [
    'dead letters',
    scripts.deadLetters.list({ order: 'newest' }, 1, 1, true),
    [null, 1, [1, 'a'], [1, 'a', 'b', 'c']],
  ],
  ['redrive', scripts.deadLetters.redrive(['a']), [null, 'retry', [1]]],
  ['groups', scripts.groups.list({ by: 'depth', offset: 0, limit: 1 }), [null, 1, [], [1, 'a'], ['a']]],
  ['group pause', scripts.groups.pause('a', {}), [null, 'retry', [1]]],
  ['limits', scripts.limits.get(), [null, 1, [], ['a'], 'retry']],
  ['reclaim', scripts.sweep.reclaim(1, 0, 0), [null, 1, [], ['1', 'a'], ['1', 'a', 'completed', 'w']]],
  ['reclaim-worker', scripts.sweep.reclaimWorker('w', '0', 1), [null, [], [[]], ['0', 'a', 'completed', 'w']]],
  ['promote', scripts.sweep.promote(1), [null, 'retry', [1]]],
  ['adopt', scripts.sweep.adoptForeign(1), [null, 1, [1], [0, 0, 0, 'a']]],
  ['tidy', scripts.sweep.tidy(1), [null, 1, [1], ['a', 'b']]],
  [
    'maintain',
    scripts.sweep.maintainBatches(1, false),
    [1, 'retry', [0, 0], [0, 0, 'a', [], []], [0, 0, [], ['a'], []]],
  ],
  ['create a batch', scripts.batches.create(BATCH), [null, 1, 'retry', ['created']]],
  ['join', scripts.batches.join('b', []), [null, 'created', 1]],
  ['known', scripts.batches.known('b', ['m']), [null, 1, ['retry'], ['known', 'new']]],
  ['seal', scripts.batches.seal('b'), [null, 'created', 1]],
  ['stop', scripts.batches.stop('b'), [null, 'created', 1]],
  ['batch', scripts.batches.status('b'), [1, 'retry', [], [1, 2]]],
  ['batches', scripts.batches.list(0, 1), [null, 1, ['a'], [['a']]]],
  ['results', scripts.batches.results('b', 0, 1), [1, 'retry', ['a'], [0, 'a']]],
  ['outbox', scripts.batches.outbox(1), [null, 1, ['a'], ['a', 'b']]],
  ['deliver', scripts.batches.deliver('q', []), [null, 'retry', [1]]],
  ['ends', scripts.batches.ends('q', []), [null, 1, ['a'], [[1], 2, 3, 4, 5]]],
  ['open members', scripts.batches.openMembers(1, 1), [null, 1, ['a']]],
  ['upsert', scripts.schedules.upsert(SCHEDULE, undefined, undefined), [null, 1, ['retry', 1], ['created']]],
  ['due', scripts.schedules.due(1), [null, 1, [1], [1, 2, 0, 'a']]],
  ['tick', scripts.schedules.tick([]), [null, 1, ['enqueued']]],
  ['run', scripts.schedules.run('s', 'j'), [null, 'added', ['retry']]],
  ['pause a schedule', scripts.schedules.pause('s'), [null, 1, 'retry']],
  ['resume a schedule', scripts.schedules.resume('s'), [null, 'resumed', ['retry'], ['next', 1]]],
  ['remove a schedule', scripts.schedules.remove('s'), [null, 1, 'retry']],
  ['schedules', scripts.schedules.list(0, 1), [null, 1, ['a'], [['a']]]],
  ['doctor: scan', scripts.doctor.scan(['a']), [null, 1, ['a'], ['a', 'retry', '']]],
  ['doctor: inspect', scripts.doctor.inspect(['a'], false), [null, [], ['a'], [1, 'a']]],
  ['doctor: unique', scripts.doctor.unique(['a'], false), [null, 1, ['a']]],
  ['doctor: groups', scripts.doctor.groups(['a'], false), [null, 1, ['a']]],
  ['doctor: batches', scripts.doctor.batches(['a'], 1, false), [null, 1, ['a']]],
  ['doctor: counters', scripts.doctor.counters(false, false), [null, 1, ['a']]],
  ['history', scripts.history.read(1, undefined, 1), [null, 1, [], [1, 2, 3, 'a', 'b'], [1, '', '', [['a']], []]]],
  ['doctor: histories', scripts.doctor.histories('completed', ['a'], false), [null, [], ['a'], [1, 'a']]],
  ['step', scripts.step(claim, { name: 's', result: sealed('1') }), [null, 1, 'lines', ['recorded']]],
  ['steps', scripts.step(claim), [null, 1, 'retry', 's\tnow\t1\t\n', ['lost']]],
  ['progress', scripts.progress(claim, sealed('1')), [null, 'retry', [1]]],
];

const reader = { group: 'g', consumer: 'c' };
const READS: [string, CommandCall<unknown>, unknown[]][] = [
  [
    'read',
    scripts.audit.read('', 1),
    [null, 1, 'retry', ['a'], [['a', ['id', 'x']]], [['1-0', 'a']], [['1-0', ['a']]]],
  ],
  ['latest', scripts.audit.latest(1), [null, 1, [[1, []]], [['1-0', [[]]]]]],
  ['take', scripts.audit.take(reader, 1, 1), [null, 1, ['0-0', 'retry'], ['0-0', [['a', []]]], [['a', []]]]],
  ['acknowledge', scripts.audit.acknowledge('g', ['1-0']), [null, 'retry', [1]]],
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
