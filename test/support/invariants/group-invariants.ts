// Invariants of the groups of a queue, read with plain commands.
import type { Redis } from 'ioredis';
import type { QueueKeys } from '#queue/scripts/queue-keys.js';
import { readEach } from '../redis/redis-reads.js';
import { readKeys, type KeyReads } from './key-reads.js';

type Settings = Readonly<Record<string, string>>;

/** The keys of one group, and of all groups, before which the prefix stands. */
const OF_GROUP = ['waiting:', 'running:', 'state:'] as const;
const OF_ALL = ['settings', 'depths', 'turns', 'gated', 'heads', 'ends'] as const;

/** Returns the ids that wait in the groups, by place. */
export function groupPlaces(reads: KeyReads, { groupsPrefix }: QueueKeys): Record<string, string[]> {
  const prefix = `${groupsPrefix}waiting:`;
  return Object.fromEntries(
    reads.like(prefix).map((key) => [`group ${key.slice(prefix.length)}`, reads.members(key)]),
  );
}

/** Returns descriptions of the faults in a queue of these groups. */
export async function groupViolations(redis: Redis, keys: QueueKeys, groups: readonly string[]): Promise<string[]> {
  const of = (kind: string) => keys.groupsPrefix + kind;
  const claimed = await redis.zrange(keys.claims, 0, '-1');
  const reads = await readKeys(redis, [
    keys.claims,
    ...claimed.map((id) => keys.job(id)),
    ...OF_ALL.map(of),
    ...OF_GROUP.flatMap((kind) => groups.map((name) => of(kind + name))),
  ]);
  return groupFaults(reads, keys);
}

/** Returns descriptions of the faults in a queue's groups. */
export function groupFaults(reads: KeyReads, keys: QueueKeys): string[] {
  const faults: string[] = [];
  const of = (kind: string) => keys.groupsPrefix + kind;
  const claimed = new Map<string, string[]>();
  for (const id of reads.members(keys.claims)) {
    const group = reads.field(keys.job(id), 'group');
    if (group !== undefined) claimed.set(group, [...(claimed.get(group) ?? []), id]);
  }
  const names = new Set(claimed.keys());
  for (const kind of OF_GROUP) {
    reads.like(of(kind)).forEach((key) => names.add(key.slice(of(kind).length)));
  }
  ['depths', 'heads'].forEach((kind) => reads.members(of(kind)).forEach((name) => names.add(name)));
  const defaults = reads.hash(of('settings')) ?? {};
  let total = 0;
  for (const name of names) {
    const line = reads.members(of(`waiting:${name}`));
    const waiting = line.length;
    const running = reads.members(of(`running:${name}`)).toSorted();
    const holders = (claimed.get(name) ?? []).toSorted();
    total += waiting;
    if (running.join() !== holders.join()) {
      faults.push(`group ${name}: slots in use ${running.join()}, claims held ${holders.join()}`);
    }
    const depth = reads.score(of('depths'), name) ?? 0;
    if (depth !== waiting) {
      faults.push(`group ${name}: ${depth} of ${waiting} waiting jobs are counted`);
    }
    const rank = waiting > 0 ? reads.score(of(`waiting:${name}`), line[0]!) : undefined;
    faults.push(...headFaults(name, rank, reads.score(of('heads'), name)));
    if (reads.field(of('ends'), name) !== undefined && waiting + running.length === 0) {
      faults.push(`group ${name}: the end of its last turn is kept without a job`);
    }
    const places = [reads.score(of('turns'), name), reads.score(of('gated'), name)];
    const settings = { ...defaults, ...reads.hash(of(`state:${name}`)) };
    faults.push(...placeFaults(name, waiting, running.length, settings, places));
  }
  if (Number(defaults['waiting'] ?? 0) !== total) {
    faults.push(`groups: ${defaults['waiting']} of ${total} waiting jobs are counted`);
  }
  return faults;
}

/** Checks the head, which may be noted at the place of a former head. */
function headFaults(name: string, rank: number | undefined, noted: number | undefined): string[] {
  const place = Number(rank) - Math.floor(Number(rank) / 2 ** 40) * 2 ** 40;
  const isNoted = rank === undefined ? noted === undefined : noted !== undefined && noted <= place;
  return isNoted ? [] : [`group ${name}: its head is at ${place}, and is noted at ${noted}`];
}

function placeFaults(
  name: string,
  waiting: number,
  running: number,
  settings: Settings,
  [turn, gate]: (number | undefined)[],
): string[] {
  const most = Number(settings['max_running'] ?? Infinity);
  // During a review after a change of all groups' settings, some groups have no place yet.
  const isHeldBack = ['review_cursor', 'paused_at_ms'].some((field) => settings[field] !== undefined);
  const isBlocked = isHeldBack || running >= most || isHeld(settings, most);
  if (waiting > 0 && !isBlocked && turn === undefined && gate === undefined) {
    return [`group ${name}: may run, and is neither in turns nor in gated`];
  }
  // A claim does not look at the slots of groups of one slot that are in turns.
  if (running >= most && settings['review_cursor'] === undefined && turn !== undefined) {
    return [`group ${name}: is in turns without a free slot`];
  }
  return waiting === 0 && turn !== undefined ? [`group ${name}: is in turns without a job`] : [];
}

/** Returns whether the group is held. A hold counts as long as the settings give a reason for it. */
function isHeld(settings: Settings, most: number): boolean {
  const isByDead = settings['hold_is_dead'] !== undefined;
  return settings['hold'] !== undefined && most === 1 && (!isByDead || settings['on_dead_head'] === 'hold');
}

/** Returns the ids of claimed jobs by their group. */
export async function claimsByGroup(
  redis: Redis,
  claims: string,
  job: (id: string) => string,
): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>();
  const ids = await redis.zrange(claims, 0, '-1');
  const found = await readEach<string, string | null>(redis, ids, (pipeline, id) =>
    pipeline.hget(job(id), 'group'),
  );
  for (const [i, id] of ids.entries()) {
    const group = found[i]!;
    if (group !== null) {
      groups.set(group, [...(groups.get(group) ?? []), id]);
    }
  }
  return groups;
}
