// A seed replays a run: which faults happen, in which order, to which process and for how long. Failing seeds are kept,
// see kept-seeds.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FINDS, SEEDS } from './kept-seeds.js';
import { kindsOf, plan, strength, victim, type PlannedFault, type Topology } from './plan.js';

const TOPOLOGIES: Topology[] = ['single', 'sentinel', 'cluster'];

/** Returns the first rounds of a seed, each with every kind once. */
function drawn(seed: number, topology: Topology, rounds = 1): PlannedFault[] {
  const kinds = kindsOf(topology, true);
  const faults = plan(seed, kinds);
  return Array.from({ length: rounds * kinds.length }, () => faults.next().value!);
}

describe.each(TOPOLOGIES)('the plan of a run, %s', (topology) => {
  it('is the same for the same seed: kinds, order, victims, strength and rest', () => {
    expect(drawn(7, topology, 5)).toEqual(drawn(7, topology, 5));
  });

  it('is another for another seed', () => {
    const [one, other] = [drawn(7, topology, 5), drawn(8, topology, 5)];
    for (const what of ['kind', 'victim', 'strength', 'restMs'] as const) {
      expect(one.map((fault) => fault[what])).not.toEqual(other.map((fault) => fault[what]));
    }
  });

  it('has every kind once before any comes again, in an order of its own', () => {
    const kinds = kindsOf(topology, true);
    const faults = drawn(7, topology, 5).map(({ kind }) => kind);
    const rounds = Array.from({ length: 5 }, (_, i) => faults.slice(i * kinds.length, (i + 1) * kinds.length));
    for (const round of rounds) expect(round.toSorted()).toEqual(kinds.toSorted());
    expect(new Set(rounds.map(String)).size).toBeGreaterThan(1);
  });
});

it('a plan for one server has two versions at once, rolled out and back', () => {
  expect(kindsOf('single', false)).toContain('earlier-version');
  expect(kindsOf('single', true)).toContain('earlier-version');
});

it('a drawn fault has its victim and its strength, and nothing else decides', () => {
  const fault = { kind: 'kill', restMs: 2_000 } as const;
  const all = ['first', 'second', 'third'];
  const of = (share: number) => victim(all, { ...fault, victim: share, strength: 0 });
  expect([0, 0.33, 0.34, 0.99].map(of)).toEqual(['first', 'first', 'second', 'third']);
  const ms = (share: number) => strength({ ...fault, victim: 0, strength: share }, 500, 3_000);
  expect([0, 0.5, 1].map(ms)).toEqual([500, 1_750, 3_000]);
});

describe('a seed that found something', () => {
  it.each(FINDS)('$seed, $topology: $found', ({ seed, topology, shownBy: { file, test } }) => {
    expect(SEEDS[topology]).toBe(seed);
    expect(readFileSync(join(import.meta.dirname, '../..', file), 'utf8')).toContain(`it('${test}`);
  });

  it('draws the same faults as then', () => {
    const faults = drawn(20263, 'cluster').map(({ kind, ...rest }) => [
      kind,
      Math.floor(rest.victim * 100),
      Math.floor(rest.strength * 100),
      rest.restMs,
    ]);
    expect(faults).toEqual([
      ['misplace', 9, 43, 2_454],
      ['cluster-kill', 99, 54, 2_216],
      ['slot-move', 9, 9, 3_241],
      ['cluster-switch', 12, 9, 3_906],
      ['kill-producer', 70, 53, 2_425],
      ['kill', 8, 88, 2_613],
      ['hub-cut', expect.any(Number), expect.any(Number), expect.any(Number)],
      ['bandwidth', expect.any(Number), expect.any(Number), expect.any(Number)],
    ]);
  });
});
