// Invariants of the groups of a queue, read with plain commands.
import type { ChainableCommander, Redis } from 'ioredis';
import type { QueueCalls } from '#queue/scripts/calls/all-calls.js';
import { keysLike, readEach } from '../redis/redis-reads.js';

type Settings = Record<string, string>;

/** Returns the ids that wait in the groups, by place. */
export async function groupPlaces(redis: Redis, { keys }: QueueCalls): Promise<Record<string, string[]>> {
  const prefix = `${keys.groupsPrefix}waiting:`;
  const lines = await keysLike(redis, `${prefix}*`);
  const ids = await readEach<string, string[]>(redis, lines, (pipeline, key) => pipeline.zrange(key, 0, '-1'));
  return Object.fromEntries(lines.map((key, i) => [`group ${key.slice(prefix.length)}`, ids[i]!]));
}

/**
 * Returns descriptions of the faults in a queue's groups.
 *
 * @param known all groups that may exist; without it the keys of the whole server are scanned
 */
export async function groupViolations(
  redis: Redis,
  { keys }: QueueCalls,
  known?: readonly string[],
): Promise<string[]> {
  const faults: string[] = [];
  const of = (kind: string) => keys.groupsPrefix + kind;
  const names = new Set<string>(known);
  for (const kind of known ? [] : ['waiting:', 'running:', 'state:']) {
    for (const key of await keysLike(redis, `${of(kind)}*`)) {
      names.add(key.slice(of(kind).length));
    }
  }
  const claimed = await claimsByGroup(redis, keys.claims, (id) => keys.job(id));
  [...claimed.keys()].forEach((name) => names.add(name));
  const defaults = await redis.hgetall(of('settings'));
  const groups = [...names];
  const read = <Reply>(command: (pipeline: ChainableCommander, name: string) => unknown) =>
    readEach<string, Reply>(redis, groups, command);
  const waitingOf = await read<number>((pipeline, name) => pipeline.zcard(of(`waiting:${name}`)));
  const runningOf = await read<string[]>((pipeline, name) => pipeline.zrange(of(`running:${name}`), 0, '-1'));
  const stateOf = await read<Settings>((pipeline, name) => pipeline.hgetall(of(`state:${name}`)));
  const scoresOf = async (key: string) => read<string | null>((pipeline, name) => pipeline.zscore(of(key), name));
  const [depths, turns, gated] = [await scoresOf('depths'), await scoresOf('turns'), await scoresOf('gated')];
  const noted = await scoresOf('heads');
  const endOf = await read<string | null>((pipeline, name) => pipeline.hget(of('ends'), name));
  const headOf = await read<string[]>((pipeline, name) =>
    pipeline.zrange(of(`waiting:${name}`), 0, '0', 'WITHSCORES'),
  );
  let total = 0;
  for (const [i, name] of groups.entries()) {
    const waiting = waitingOf[i]!;
    const running = runningOf[i]!.toSorted();
    const holders = (claimed.get(name) ?? []).toSorted();
    total += waiting;
    if (running.join() !== holders.join()) {
      faults.push(`group ${name}: slots in use ${running.join()}, claims held ${holders.join()}`);
    }
    const depth = Number(depths[i] ?? 0);
    if (depth !== waiting) {
      faults.push(`group ${name}: ${depth} of ${waiting} waiting jobs are counted`);
    }
    const places = [turns[i]!, gated[i]!];
    faults.push(...headFaults(name, headOf[i]![1], noted[i]!));
    if (endOf[i] !== null && waiting + running.length === 0) {
      faults.push(`group ${name}: the end of its last turn is kept without a job`);
    }
    faults.push(...placeFaults(name, waiting, running.length, { ...defaults, ...stateOf[i] }, places));
  }
  if (Number(defaults['waiting'] ?? 0) !== total) {
    faults.push(`groups: ${defaults['waiting']} of ${total} waiting jobs are counted`);
  }
  return faults;
}

/** Checks the head, which may be noted at the place of a former head. */
function headFaults(name: string, rank: string | undefined, noted: string | null): string[] {
  const place = Number(rank) - Math.floor(Number(rank) / 2 ** 40) * 2 ** 40;
  const isNoted = rank === undefined ? noted === null : noted !== null && Number(noted) <= place;
  return isNoted ? [] : [`group ${name}: its head is at ${place}, and is noted at ${noted}`];
}

function placeFaults(
  name: string,
  waiting: number,
  running: number,
  settings: Settings,
  [turn, gate]: (string | null)[],
): string[] {
  const most = Number(settings['max_running'] ?? Infinity);
  // During a review after a change of all groups' settings, some groups have no place yet.
  const isHeldBack = ['review_cursor', 'paused_at_ms'].some((field) => settings[field] !== undefined);
  const isBlocked = isHeldBack || running >= most || isHeld(settings, most);
  if (waiting > 0 && !isBlocked && turn === null && gate === null) {
    return [`group ${name}: may run, and is neither in turns nor in gated`];
  }
  // A claim does not look at the slots of groups of one slot that are in turns.
  if (running >= most && settings['review_cursor'] === undefined && turn !== null) {
    return [`group ${name}: is in turns without a free slot`];
  }
  return waiting === 0 && turn !== null ? [`group ${name}: is in turns without a job`] : [];
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
