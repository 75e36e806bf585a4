// The transactions of a test where their work overlaps. test/outbox has them in an app.
import { expect, it } from '@jest/globals';
import { TestTransactions } from '#testing/module/test-transactions.js';

/** Returns transactions, a way to note a step, and the steps that were committed. */
function make() {
  const transactions = new TestTransactions();
  const committed: string[] = [];
  const tx = {};
  const note = (name: string) => transactions.defer(tx, { commit: () => void committed.push(name) });
  return { transactions, committed, tx, note };
}

/** Returns a promise, and the function that resolves it. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

it('keeps the jobs of concurrent transactions apart, also with one object', async () => {
  const { transactions, committed, tx, note } = make();
  const [first, second] = [gate(), gate()];
  const one = transactions.run(tx, async () => {
    await first.opened;
    note('one');
  });
  const two = transactions.run(tx, async () => {
    await second.opened;
    note('two');
  });
  const undone = transactions.run(tx, async () => {
    note('undone');
    await second.opened;
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
  const { opened, open } = gate();
  let inner = Promise.resolve();
  await transactions.run(tx, async () => {
    inner = transactions.run(tx, async () => {
      note('early');
      await opened;
    });
  });
  expect(committed).toEqual([]);
  open();
  await inner;
  expect(committed).toEqual(['early']);
});

it('keeps the jobs of another async context for the open transaction', async () => {
  const { transactions, committed, tx, note } = make();
  const { opened, open } = gate();
  const run = transactions.run(tx, () => opened);
  expect(note('from an event')).toBe(true);
  expect(committed).toEqual([]);
  open();
  await run;
  expect(committed).toEqual(['from an event']);
});
