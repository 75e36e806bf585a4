// The options of a run.
import type { FaultKind, Topology } from '../plan.js';

export interface RunOptions {
  seed: number;
  minutes: number;
  topology: Topology;
  /** A server of the user's, which is not harmed. Without it the run starts its own. */
  redisUrl: string | undefined;
  /** The number of jobs of a load, which has no faults. */
  jobs: number;
  /** `memory`: the server forgets all in the middle of the run. */
  persistence: 'aof' | 'memory';
  /** The faults to draw from. Default: all that can happen there. */
  kinds?: readonly FaultKind[];
  say: (line: string) => void;
}
