import { expect, it } from '@jest/globals';
import type { AskedOptions } from '#queue/store/asked-options.js';
import type { DeadEntry } from '#queue/verbs/once.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';
import { sealed, sealedError } from '../../support/queue/unsealed.js';

const SENDER = { source: 'old', fence: 1 };
const STACK = 'TypeError: no file 7\n    at work (work.js:1:2)';

function entry(key: string, id = `job-${key}`, options?: AskedOptions): DeadEntry {
  return {
    key,
    job: { id, name: 'encode', payload: sealed('{"n":1}'), ...(options && { options }) },
    ran: { attempts: 3, errors: 2, crashes: 1 },
    failure: {
      error: sealedError({ name: 'TypeError', message: 'no file 7', stack: STACK }),
      startedAt: 1_700_000_000_000,
      endedAt: 1_700_000_000_500,
    },
  };
}

const send = (q: TestQueue, entries: DeadEntry[], sender = SENDER) =>
  q.run(q.scripts.once.addDeadLetters({ sender, entries }));

onEachStore('a dead letter that a sender adds', () => {
  it('has the attempts, the error with its stack, the options and a place of its own', async () => {
    const queue = newQueue();
    const options = { maxAttempts: 3, priority: 7 };
    const call = () =>
      queue.exec(({ once }) => once.addDeadLetters({ sender: SENDER, entries: [entry('a', 'a', options)] }));
    expect(await call()).toEqual({ replies: [{ outcome: 'new' }] });
    expect(await queue.get('a')).toMatchObject({
      status: 'failed',
      name: 'encode',
      payload: { n: 1 },
      attempts: 3,
      errors: 2,
      crashes: 1,
      maxAttempts: 3,
      priority: 7,
      lastError: 'no file 7',
      attemptLog: [
        {
          attempt: 3,
          outcome: 'error',
          endedAt: new Date(1_700_000_000_500),
          error: sealedError({ name: 'TypeError', message: 'no file 7', stack: STACK }),
        },
      ],
    });
    expect(await queue.deadLetters.get('a')).toMatchObject({ lastError: 'no file 7' });
    expect(await queue.deadLetters.kinds()).toMatchObject([{ count: 1 }]);
    expect((await queue.stats()).totals).toMatchObject({ enqueued: 1, failed: 1 });
    expect(await call()).toEqual({ replies: [{ outcome: 'known' }] });
    await queue.deadLetters.redrive('a');
    expect(await queue.claim()).toMatchObject({ id: 'a', attempt: 1, payload: { n: 1 } });
  });

  it('is left where its id is known or the cap would delete one, and gets no mark', async () => {
    const queue = newQueue({ deadLetterCap: 1 });
    await queue.enqueue(1, { id: 'known' });
    const sent = await queue.exec(({ once }) =>
      once.addDeadLetters({ sender: SENDER, entries: [entry('k', 'known'), entry('a'), entry('b')] }),
    );
    expect(sent).toEqual({ replies: [{ outcome: 'existing' }, { outcome: 'new' }, { outcome: 'full', cap: 1 }] });
    expect(await queue.exec(({ once }) => once.marks({ source: 'old', limit: 9 }))).toEqual(['a']);
    expect((await queue.list('failed')).map(({ id }) => id)).toEqual(['job-a']);
  });

  it('is refused of a sender that another has overtaken', async () => {
    const queue = newQueue();
    const as = (fence: number, key: string) =>
      queue.exec(({ once }) => once.addDeadLetters({ sender: { ...SENDER, fence }, entries: [entry(key)] }));
    await as(8, 'a');
    expect(await as(7, 'b')).toEqual({ newerFence: 8 });
    expect(await queue.get('job-b')).toBeNull();
  });
});

it('I3: changes nothing when repeated after a lost reply, also once its job is gone', async () => {
  const q = testQueue();
  await send(q, [entry('a')]);
  await expectUnchanged(q, () => send(q, [entry('a')]));
  await q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'job-a' }] }));
  await expectUnchanged(q, () => send(q, [entry('a')]));
});

it('notes when it was added, in the order of which marks are listed', async () => {
  const q = testQueue();
  const before = await q.now();
  await send(q, [entry('a')]);
  const [, added] = await q.redis.zrange(q.keys.once('old'), '0', '-1', 'WITHSCORES');
  expect(Number(added)).toBeGreaterThanOrEqual(before);
});

it('leaves nothing that the doctor finds', async () => {
  const queue = newQueue();
  await queue.exec(({ once }) => once.addDeadLetters({ sender: SENDER, entries: [entry('a'), entry('b')] }));
  expect(await queue.doctor()).toMatchObject({ checked: 2, findings: [] });
});
