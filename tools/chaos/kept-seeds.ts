// Failing seeds, kept: runs of `npm run soak` that found a fault of the library, and the test that shows it since.
import type { Topology } from './plan.js';

export interface Find {
  seed: number;
  topology: Topology;
  found: string;
  shownBy: { file: string; test: string };
}

/** All came late in runs of ten minutes, by the timing of an overloaded machine, so a spec brings each about by itself. */
export const FINDS: readonly Find[] = [
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client disconnecting for ever that is redirected while its connections are replaced',
    shownBy: { file: 'test/long/topologies/cluster.spec.ts', test: 'connects again all the same' },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'nobody hears the answer to an ASKING that is cut off, and its rejection ends the process',
    shownBy: { file: 'test/long/topologies/cluster.spec.ts', test: 'has the answer to its ASKING heard' },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client disconnecting for ever that is told to disconnect before it has a node',
    shownBy: { file: 'test/long/topologies/cluster.spec.ts', test: 'goes on connecting' },
  },
  {
    seed: 20263,
    topology: 'cluster',
    found: 'ioredis leaves a client closed for ever whose last connection ends when it has begun to connect anew',
    shownBy: { file: 'test/long/topologies/cluster.spec.ts', test: 'connects all the same' },
  },
];

/** What `npm run test:faults` draws from: the last seed that found something there, or the first that was tried. */
export const SEEDS: Readonly<Record<Topology, number>> = { single: 1, sentinel: 1, cluster: 20263 };
