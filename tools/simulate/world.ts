// What the processes of a simulated fleet see of its run.
import type { WakeChannels } from '../../test/support/memory/cluster-store.js';
import type { StreamEntry } from '#memory/server/keyspace.js';
import type { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Random } from '../chaos/random.js';
import type { History } from './history/history.js';
import type { Part } from './parts.js';
import type { NetworkFaults } from './server/network.js';
import type { ServerClock } from './server/server-clock.js';
import type { SimulatedServer } from './server/simulated-server.js';
import type { WatchedServer } from './server/watched-server.js';

export type QueueName = 'mixed' | 'ordered' | 'limited';

/** The clock and the server of a run, what its processes record, and what goes wrong. */
export interface World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: SimulatedServer;
  /** The channels over which scripts wake the workers of many queues. */
  readonly channels: WakeChannels | undefined;
  readonly watched: WatchedServer;
  readonly serverClock: ServerClock;
  readonly history: History;
  /** The parts of the library that the run exercises beside plain jobs. */
  readonly parts: ReadonlySet<Part>;
  readonly isEnding: boolean;
  /** True if most handlers end at once, so that workers claim jobs ahead. */
  readonly isQuick: boolean;
  /** Returns the network faults of a process. */
  faultsOf(process: { name: string }): NetworkFaults;
  /** Returns whether the settings of a group change in the run. */
  isOfLimits(group: string): boolean;
  /** Returns what is stored of a job's stream. */
  streamOf(name: QueueName, id: string): readonly StreamEntry[];
  /** Returns the last fence of a queue. */
  sequenceOf(name: QueueName): number;
}
