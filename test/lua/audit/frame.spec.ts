// The frame around a script, run with the transitions of one that it wraps.
import { expect, it } from '@jest/globals';
import { audited } from '#queue/scripts/audited-calls.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const run = <Reply>(q: TestQueue, call: ScriptCall<Reply>) =>
  q.run(audited(call, { stream: q.keys.audit, maxEntries: 100 }));

async function trail(q: TestQueue): Promise<Record<string, string>[]> {
  const entries = await q.redis.xrange(q.keys.audit, '-', '+');
  return entries.map(([, fields]) =>
    Object.fromEntries(Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!])),
  );
}

it('writes one entry for each job whose status a script changes, and returns what the script returns', async () => {
  const q = testQueue();
  const jobs = ['a', 'b'].map((id) => ({ id, name: 'email', payload: '{}' }));
  expect(await run(q, q.scripts.enqueue(jobs))).toHaveLength(2);
  const shared = {
    name: 'email',
    transition: 'enqueue',
    from: '',
    to: 'pending',
    attempt: '0',
    worker: '',
    error: '',
  };
  expect(await trail(q)).toMatchObject([
    { id: 'a', ...shared },
    { id: 'b', ...shared },
  ]);
});

it('writes nothing for a repeat, and the deletion of a job with an empty state', async () => {
  const q = testQueue();
  await q.addAll('a');
  await run(q, q.scripts.remove('a'));
  await run(q, q.scripts.remove('a'));
  expect(await trail(q)).toMatchObject([{ id: 'a', transition: 'remove', from: 'pending', to: '' }]);
});

it('notes the error of this transition, at most 200 bytes of it', async () => {
  const q = testQueue();
  const job = await q.addAndClaim('a');
  const error = { name: 'Error', message: 'ä'.repeat(150) };
  await run(q, q.scripts.fail([{ ...job, error, final: true, backoffMs: 0 }]));
  expect(await trail(q)).toMatchObject([
    { from: 'processing', to: 'failed', attempt: '1', worker: 'worker-1', error: 'ä'.repeat(100) },
  ]);
});
