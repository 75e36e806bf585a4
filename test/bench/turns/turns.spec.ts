// The order in which the benchmark lets contestants take turns, see bench/turns/turns.mjs.
import { expect, it } from '@jest/globals';
import { Turns } from '../../../bench/turns/turns.mjs';

const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Takes turns, writes down who had one, and checks that nobody else did meanwhile. */
function takenBy(turns: Turns) {
  const had: string[] = [];
  let busy = false;
  const take = (contestant: string) =>
    turns.take(contestant, async () => {
      expect(busy).toBe(false);
      busy = true;
      await pause();
      busy = false;
      had.push(contestant);
      return had.length;
    });
  return { had, take };
}

it('gives turns in the fixed order, whoever asks first', async () => {
  const { had, take } = takenBy(new Turns(['a', 'b', 'c']));
  const thrice = async (contestant: string) => {
    for (let i = 0; i < 3; i++) await take(contestant);
  };
  await Promise.all(['c', 'b', 'a'].map(thrice));
  expect(had.join('')).toBe('abcabcabc');
});

it('brings the work of the turn', async () => {
  const { take } = takenBy(new Turns(['a']));
  expect([await take('a'), await take('a')]).toEqual([1, 2]);
});

it('waits for one that has not asked yet, until it leaves', async () => {
  const turns = new Turns(['a', 'b', 'c']);
  const { had, take } = takenBy(turns);
  const waiting = take('b');
  await pause();
  expect(had).toEqual([]);
  turns.leave('a');
  await waiting;
  await take('c');
  expect(had.join('')).toBe('bc');
});

it('continues with the next after a failed turn, which rejects for its owner', async () => {
  const turns = new Turns(['a', 'b']);
  const { had, take } = takenBy(turns);
  const failing = turns.take('a', () => Promise.reject(new Error('lost')));
  const next = take('b');
  await expect(failing).rejects.toThrow('lost');
  await next;
  expect(had).toEqual(['b']);
});

it('lets one leave while another has its turn', async () => {
  const turns = new Turns(['a', 'b', 'c']);
  const { had, take } = takenBy(turns);
  const [first, last] = [take('a'), take('c')];
  turns.leave('b');
  await Promise.all([first, last]);
  expect(had.join('')).toBe('ac');
});
