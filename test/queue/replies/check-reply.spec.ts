// A proxy that mixes the replies of two calls: each call refuses the reply of another by a named error.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { ReplyDecodeError, ScriptRunner, type ScriptCall } from '#queue/transport/script-runner.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { connect } from '../../support/redis/redis.js';

const claim = { id: 'a', token: 't', fence: 1 } as ClaimedJob;
const failure = { ...claim, error: { name: 'Error', message: 'no' }, final: true, backoffMs: 0 };
const release = { ...claim, reason: 'interruption' as const, delayMs: 0 };

const scripts = await inside(coreQueue().queue).scripts();
const REPLIES: [string, ScriptCall<unknown>, unknown[]][] = [
  ['claim', scripts.claim({ count: 1, token: 't', worker: 'w', stream: '0' }), [null, 1, 'retry', ['retry'], []]],
  ['complete', scripts.complete([{ ...claim, result: '' }]), ['retry', ['retry'], [2], 1]],
  ['fail', scripts.fail([failure]), [null, 1, ['released'], [], ['retry', 'retry']]],
  ['release', scripts.release([release]), [null, 1, ['retry'], []]],
  ['extend', scripts.extend([claim]), [null, 1, ['a', 'retry'], ['a']]],
  ['start', scripts.start([claim]), [null, ['retry'], [1, 1], 'retry']],
  ['register', scripts.workers.register('w', true), [null, ['retry'], 'retry']],
  ['remove', scripts.remove('a'), [null, 'retry', ['removed']]],
  ['cancel', scripts.cancel('a'), [null, 'retry', 1]],
];

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
