// Which ids of ended jobs a mover copies in each of its rounds. In a real move the rounds follow each other too fast for a test.
import { expect, it } from '@jest/globals';
import { EndedCopier } from '#migrate/queue/queue-mover.js';
import type { NewPlace, OldPlace } from '#migrate/queue/places.js';

/** Makes a copier of a queue that has only the marks of ended ids. Returns what each round copies. */
function scene(ids: readonly string[]) {
  const copied: unknown[] = [];
  const client = {
    lrange: async () => [],
    zcard: async () => ids.length,
    zrange: async (_key: string, ...args: string[]) =>
      args.includes('WITHSCORES') ? ids.flatMap((id) => [id, '1']) : [],
  };
  const target = { putSettings: async (_: string, pairs: string[]) => void copied.push(pairs.length / 2) };
  const copier = new EndedCopier({ client, keys: {} } as unknown as OldPlace, target as unknown as NewPlace);
  return { copied, round: () => copier.run() };
}

it('copies them again where their number has changed, also from 3 to 13, and else not', async () => {
  const ids = ['a', 'b', 'c'];
  const { copied, round } = scene(ids);
  await round();
  await round();
  expect(copied).toEqual([3]);
  ids.push(...Array.from({ length: 10 }, (_, i) => `d${i}`));
  await round();
  expect(copied).toEqual([3, 13]);
});

it('copies of a history only what is newer than at the last round', async () => {
  const completed = ['b', 'a'];
  const copied: string[][] = [];
  const client = {
    lrange: async (key: string) => (key === 'completed' ? [...completed] : []),
    hgetall: async (id: string) => ({ name: id }),
    pttl: async () => 60_000,
    zcard: async () => 0,
    zrange: async () => [],
  };
  const target = {
    putEnded: async (_: string, jobs: readonly { id: string }[]) => copied.push(jobs.map(({ id }) => id)),
  };
  const keys = { completed: 'completed', cancelled: 'cancelled', job: (id: string) => id };
  const copier = new EndedCopier({ client, keys } as unknown as OldPlace, target as unknown as NewPlace);
  await copier.run();
  await copier.run();
  expect(copied).toEqual([['a', 'b']]);
  completed.unshift('c');
  await copier.run();
  expect(copied).toEqual([['a', 'b'], ['c']]);
});
