// What holds for jobs in transit of each library: acknowledged once, or given back once.
import { expect, it } from '@jest/globals';
import { connect } from '../redis/redis.js';
import { SeededBee } from './seed-bee.js';
import { SeededQueue } from './seed-bullmq.js';

/** A queue of an old library. */
export type Seeded = typeof SeededBee | typeof SeededQueue;
type Old = InstanceType<Seeded>;
type Taken = Awaited<ReturnType<Old['source']['inTransit']>>;

/** Returns a queue with waiting jobs, of which the `taken` are in transit. */
export async function inTransit<Library extends Seeded>(Library: Library, waiting: string[], taken = waiting) {
  const old = new Library(connect()) as InstanceType<Library>;
  await old.source.begin();
  for (const id of waiting) await old.wait(id);
  await old.source.take('wait', taken);
  return { old, jobs: await old.source.inTransit() };
}

const giveBack = (old: Old, jobs: Taken) => old.source.giveBack(jobs, old instanceof SeededBee ? 'bee' : 'bullmq6');

export function describeAcknowledge(Library: Seeded): void {
  itOnlyForgets(Library, (old, jobs) => old.source.acknowledge(jobs));

  it('are passed over where another mover acknowledges them between two reads', async () => {
    const { old, jobs } = await inTransit(Library, ['a', 'b']);
    const read = old.redis.zrange.bind(old.redis);
    old.redis.zrange = async (key: string, from: string, to: string) => {
      const ids = await read(key, from, to);
      await old.source.acknowledge(jobs.slice(0, 1));
      return ids;
    };
    expect((await old.source.inTransit()).map(({ id }) => id)).toEqual(['b']);
  });

  it('acknowledging deletes nothing when repeated, also where the id was added and taken again', async () => {
    const { old, jobs } = await inTransit(Library, ['a', 'b'], ['a']);
    await old.source.acknowledge(jobs);
    expect([await old.line(), await old.source.entries()]).toEqual([['b'], []]);
    await old.wait('a');
    await old.source.acknowledge(jobs);
    expect(await old.line()).toEqual(['b', 'a']);
    await old.source.take('wait', ['a']);
    await old.source.acknowledge(jobs);
    const again = await old.source.inTransit();
    expect(again).toHaveLength(1);
    await giveBack(old, again);
    expect(await old.line()).toEqual(['a', 'b']);
  });
}

export function describeGiveBack(Library: Seeded): void {
  itOnlyForgets(Library, giveBack);

  it('makes the jobs of the list that are given back the next to run, in their order', async () => {
    const { old, jobs } = await inTransit(Library, ['a', 'b', 'c'], ['a', 'b']);
    await giveBack(old, jobs);
    expect(await old.line()).toEqual(['a', 'b', 'c']);
    expect(await old.source.entries()).toEqual([]);
  });

  it('gives nothing back when repeated, and forgets a job that was deleted', async () => {
    const { old, jobs } = await inTransit(Library, ['a', 'b']);
    await old.remove('b');
    await giveBack(old, jobs);
    await giveBack(old, jobs);
    expect([await old.line(), await old.source.entries()]).toEqual([['a'], []]);
  });
}

function itOnlyForgets(Library: Seeded, end: (old: Old, jobs: Taken) => Promise<unknown>): void {
  it('only forgets a job that was deleted, if a newer one has its id', async () => {
    const { old, jobs } = await inTransit(Library, ['a']);
    await old.remove('a');
    await old.addAgain('a');
    expect(await old.source.inTransit()).toMatchObject([{ id: 'a', fields: {} }]);
    await end(old, jobs);
    expect([await old.line(), await old.source.entries()]).toEqual([['a'], []]);
    await old.source.take('wait', ['a']);
    expect((await old.source.inTransit())[0]?.fields).not.toEqual({});
  });
}
