// The transactions of a test where their work overlaps. test/outbox has them in an app.
import { expect, it } from '@jest/globals';
import { gate } from '../../support/faults/wait.js';
import { TestTransactions } from '#testing/module/job-queue-testing.js';

/** Returns transactions, a way to note a step, and the steps that were committed. */
function make() {
  const transactions = new TestTransactions();
  const committed: string[] = [];
  const tx = {};
  const note = (name: string) => transactions.defer(tx, { commit: () => void committed.push(name) });
  return { transactions, committed, tx, note };
}

it('keeps the jobs of concurrent transactions apart, also with one object', async () => {
  const { transactions, committed, tx, note } = make();
  const [first, second] = [gate(), gate()];
  const one = transactions.run(tx, async () => {
    await first.promise;
    note('one');
  });
  const two = transactions.run(tx, async () => {
    await second.promise;
    note('two');
  });
  const undone = transactions.run(tx, async () => {
    note('undone');
    await second.promise;
    throw new Error('undone');
  });
  first.open();
  await one;
  expect(committed).toEqual(['one']);
  second.open();
  await two;
  await expect(undone).rejects.toThrow('undone');
  expect(committed).toEqual(['one', 'two']);
  expect(note('none')).toBe(false);
});

it('commits a savepoint at once that outlives its transaction', async () => {
  const { transactions, committed, tx, note } = make();
  const { promise, open } = gate();
  let inner = Promise.resolve();
  await transactions.run(tx, async () => {
    inner = transactions.run(tx, async () => {
      note('early');
      await promise;
    });
  });
  expect(committed).toEqual([]);
  open();
  await inner;
  expect(committed).toEqual(['early']);
});

it('keeps the jobs of another async context for the open transaction', async () => {
  const { transactions, committed, tx, note } = make();
  const { promise, open } = gate();
  const run = transactions.run(tx, () => promise);
  expect(note('from an event')).toBe(true);
  expect(committed).toEqual([]);
  open();
  await run;
  expect(committed).toEqual(['from an event']);
});
