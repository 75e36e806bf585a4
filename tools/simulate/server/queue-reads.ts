// What the checks read of a queue beside its places: limits and pauses in force, and marks of claims.
import { toBytes } from '#memory/lua/values.js';
import type { StreamEntry } from '#memory/server/keyspace.js';
import type { Fields, QueueView } from '#memory/server/observed-server.js';
import { SHARED_LIMIT } from '../history/sharing-rules.js';
import type { SimulatedServer } from './simulated-server.js';

/** Returns the mark of a claimed job that has not started, or has started uncharged; see lua/attempt/start.lua. */
export function markOf(job: Fields): string | undefined {
  return job[`unstarted:${job.fence ?? ''}`];
}

interface Limits {
  readonly maxRunning: number;
  readonly hasRate: boolean;
  readonly isPaused: boolean;
}

export function limitsOf(queue: QueueView): Limits {
  return limitsIn(queue.settings, queue.now);
}

/** Returns the limits of a group: its own, else those of all groups. */
export function groupLimitsOf(queue: QueueView, group: string): Limits {
  const { groupsPrefix } = queue.keys;
  const own = queue.hash(`${groupsPrefix}state:${group}`);
  return limitsIn({ ...queue.hash(`${groupsPrefix}settings`), ...own }, queue.now);
}

function limitsIn(fields: Fields, now: number): Limits {
  const { max_running: most, rate_limit: rate, paused_at_ms: paused, paused_until_ms: until = 'Infinity' } = fields;
  return {
    maxRunning: Number(most ?? Infinity),
    hasRate: rate !== undefined,
    isPaused: paused !== undefined && Number(until) > now,
  };
}

/** Returns the number of jobs in each place, and the last fence. */
export function sizesOf(queue: QueueView) {
  const { keys, prioritized, scheduled, claims, dead, server } = queue;
  const waitingInGroups = queue.field(`${keys.groupsPrefix}settings`, 'waiting');
  return {
    pending: server.keys.read(toBytes(keys.pending), 'list')?.size ?? 0,
    prioritized: prioritized.size,
    grouped: Number(waitingInGroups ?? 0),
    scheduled: scheduled.size,
    claims: claims.size,
    dead: dead.size,
    sequence: sequenceOf(queue),
  };
}

/** Returns the number of permits of the shared limit that have not ended. */
export function permitsHeld(server: SimulatedServer): number {
  const permits = server.keys.read(toBytes(`queue:limit:{${SHARED_LIMIT}}:permits`), 'zset');
  return (permits?.slice(0, permits.size - 1) ?? []).filter(({ score }) => score > server.now()).length;
}

/** Returns the entries of a job's stream. */
export function streamOf({ keys, server }: QueueView, id: string): readonly StreamEntry[] {
  return server.keys.read(toBytes(keys.stream(id)), 'stream')?.entries ?? [];
}

export function sequenceOf({ keys, server }: QueueView): number {
  return Number(server.keys.read(toBytes(keys.sequence), 'string')?.value ?? 0);
}
