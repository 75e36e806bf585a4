// The verdict on resources: missing samples do not prove that nothing grows.
import { describe, expect, it } from '@jest/globals';
import { Resources, type Sample } from './resources.js';

const STEADY: Sample = { heap: 20_000_000, rss: 60_000_000, timers: 5, sockets: 2, listeners: 3 };
const QUARTER_MS = 1_000;

describe('the judge of resources', () => {
  it('passes steady figures', () => {
    expect(judged([0, 1, 2, 3]).every(({ verdict }) => verdict === 'steady')).toBe(true);
  });

  it('finds a growing figure', () => {
    expect(
      judged([0, 1, 2, 3], (quarter) => ({ ...STEADY, heap: 20_000_000 + quarter * 5_000_000 })),
    ).toContainEqual(expect.objectContaining({ what: 'heap', verdict: 'grows' }));
  });

  it.each([0, 1, 2, 3])('does not take a process for steady that was not seen in quarter %i', (missing) => {
    const lines = judged([0, 1, 2, 3].filter((quarter) => quarter !== missing));
    expect(lines.filter(({ who }) => who === 'worker').every(({ verdict }) => verdict === 'not seen')).toBe(true);
  });

  it('does not take a process for steady that was never seen', () => {
    expect(judged([])).toContainEqual(expect.objectContaining({ who: 'worker', verdict: 'not seen' }));
  });

  it('does not ask for a server without samples, such as those of a Cluster', () => {
    expect(judged([0, 1, 2, 3], () => STEADY, ['worker']).map(({ who }) => who)).not.toContain('Redis');
    expect(new Resources().growth(0, QUARTER_MS, ['worker']).map(({ who }) => who)).toEqual(['worker']);
  });

  it('does not ask for the memory of each key where there are few', () => {
    expect(judged([0, 1, 2, 3])).toContainEqual(
      expect.objectContaining({ what: 'memory per key', verdict: 'steady' }),
    );
  });
});

/** Judges a run with a sample of the worker in each of these quarters. Redis has a sample in every quarter. */
function judged(
  quarters: number[],
  sampleOf: (quarter: number) => Sample = () => STEADY,
  whose = ['Redis', 'worker'],
) {
  const resources = new Resources();
  for (const quarter of [0, 1, 2, 3]) {
    const at = (quarter + 0.5) * QUARTER_MS;
    resources.addServer(3_000_000, 100, 9, at);
    if (quarters.includes(quarter)) resources.add('worker', sampleOf(quarter), at);
  }
  return resources.growth(0, 4 * QUARTER_MS, whose);
}
