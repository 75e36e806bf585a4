// A queue is claimed from again soon after its server lost its data, and within its limits. A named seed finds each
// planted fault. When one no longer does, another is drawn.
import { expect, it } from '@jest/globals';
import { someOf } from '../../test/support/run/samples.js';
import { emptied, MOST_RUNNING, SOON_MS, type Planted } from './emptied.js';

/** The faults of a registration, each with a seed that finds it. */
const PLANTS: Record<string, { seed: number; planted: Planted }> = {
  'a second loss joins the announcement of the first, and nobody repeats it': {
    seed: 11,
    planted: (registration) => {
      registration.open = (runner) => {
        runner.outlook.announcement.note('lost');
        void registration['announce'](runner);
      };
    },
  },
  'a lost announcement waits for the next renewal': {
    seed: 1,
    planted: (registration) => {
      registration.open = (runner) => runner.outlook.announcement.note('lost');
    },
  },
};

it.each(someOf([1, 2, 3, 4, 5, 6, 7, 8, 11, 24], 4))(
  'starts jobs soon after each loss, within the limit: seed %d',
  async (seed) => {
    const { waits, mostRunning } = await emptied(seed);
    expect(Math.max(...waits)).toBeLessThan(SOON_MS);
    expect(mostRunning).toBe(MOST_RUNNING);
  },
);

/** How many seeds a draw tries. */
const DRAWN = 60;

it.each(Object.entries(PLANTS))('finds that %s', async (name, { seed, planted }) => {
  for (const each of [seed, ...Array.from({ length: DRAWN }, (_, i) => i + 1)]) {
    const { waits } = await emptied(each, planted);
    if (Math.max(...waits) < SOON_MS) continue;
    if (each !== seed) console.log(`${name}: seed ${each} finds it, ${seed} no longer does`);
    return;
  }
  throw new Error(`No seed finds that ${name}. Mend its plant.`);
});
