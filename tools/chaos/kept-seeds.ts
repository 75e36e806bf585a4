// Kept seeds: runs of `npm run soak` that found a fault of the library. Each names the test that shows it now.
import type { Topology } from './plan.js';

export interface Find {
  seed: number;
  topology: Topology;
  found: string;
  shownBy: { file: string; test: string };
}

/** All came late in ten-minute runs on an overloaded machine, so a spec reproduces each directly. */
export const FINDS: readonly Find[] = [
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client disconnecting forever if it is redirected while its connections are replaced',
    shownBy: {
      file: 'test/long/topologies/cluster.spec.ts',
      test: 'a client that learns the place of a slot while its connections are replaced connects again all the same',
    },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'no code handles the reply to an ASKING that is cut off, and its rejection ends the process',
    shownBy: {
      file: 'test/long/topologies/cluster.spec.ts',
      test: 'a client that is cut off while it is redirected has the reply to its ASKING handled',
    },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client disconnecting forever if it disconnects before it has a node',
    shownBy: {
      file: 'test/long/topologies/cluster.spec.ts',
      test: 'a client that still connects when it is to be replaced, as on a machine that is too busy continues connecting',
    },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client closed forever if its last connection ends after it has started to reconnect',
    shownBy: { file: 'test/long/topologies/cluster.spec.ts', test: 'connects all the same' },
  },
];

/** The seed of `npm run test:faults`: the last that found a fault on that topology, or the first tried. */
export const SEEDS: Readonly<Record<Topology, number>> = { single: 1, sentinel: 1, cluster: 20263 };
