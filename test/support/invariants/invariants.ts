// Invariants of a queue's state, whatever was done to it. Read with plain commands, not with our scripts.
import type { Redis } from 'ioredis';
import type { QueueStats } from '#queue/model/job.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import type { QueueKeys } from '#queue/scripts/queue-keys.js';
import { ScriptRunner } from '#queue/transport/script-runner.js';
import { groupFaults, groupPlaces } from './group-invariants.js';
import { readKeysLike, type KeyReads } from './key-reads.js';

interface Place {
  status: string;
  /** True if an id may be here without its hash. */
  mayExpire: boolean;
  ids: readonly string[];
}

/** Returns descriptions of the faults in a queue, and of statistics that count otherwise. */
export async function violations(redis: Redis, scripts: QueueCalls): Promise<string[]> {
  const reads = await readKeysLike(redis, scripts.keys.base);
  const stats = await new ScriptRunner(redis).run(scripts.stats());
  return [...faultsIn(reads, scripts.keys), ...miscounts(reads, scripts.keys, stats)];
}

/** Returns descriptions of the faults in the keys of a queue. */
export function faultsIn(reads: KeyReads, keys: QueueKeys): string[] {
  const faults: string[] = [];
  const seen = new Map<string, string>();
  for (const [name, place] of Object.entries(placesOf(reads, keys))) {
    for (const id of place.ids) {
      if (seen.has(id)) {
        faults.push(`I1: ${id} is in ${seen.get(id)} and in ${name}`);
      }
      seen.set(id, name);
      faults.push(...faultsOf(reads, keys.job(id), id, name, place));
    }
  }
  faults.push(...unfired(reads, keys), ...strays(reads, keys, seen), ...miscountedKinds(reads, keys));
  faults.push(...groupFaults(reads, keys), ...misparked(reads, keys));
  return faults;
}

/** Returns sealed batches without open members that did not fire, and fired ones with open members other than the follow-up. */
function unfired(reads: KeyReads, keys: QueueKeys): string[] {
  const faults: string[] = [];
  for (const id of reads.members(keys.batches)) {
    const { sealed_at_ms: sealed, fired_at_ms: fired } = reads.hash(keys.batchRecord(id)) ?? {};
    const open = reads.members(keys.batchRecord(id, 'open'));
    if (sealed && !fired && open.length === 0) {
      faults.push(`batch ${id} is sealed and empty, and did not fire`);
    }
    if (fired && open.some((member) => !/^(@batch:|[^\t]+\t@batch-of:)/.test(member))) {
      faults.push(`batch ${id} fired while ${open.join(', ')} were open`);
    }
  }
  return faults;
}

function placeOf(ids: readonly string[], status: string, mayExpire = false): Place {
  return { status, mayExpire, ids };
}

function placesOf(reads: KeyReads, keys: QueueKeys): Record<string, Place> {
  return {
    pending: placeOf(reads.list(keys.pending), 'pending'),
    prioritized: placeOf(reads.members(keys.prioritized), 'pending'),
    scheduled: placeOf(reads.members(keys.scheduled), 'scheduled'),
    claims: placeOf(reads.members(keys.claims), 'processing'),
    processing: placeOf(reads.list(keys.processing), 'processing'),
    completed: placeOf(reads.list(keys.completed), 'completed', true),
    cancelled: placeOf(reads.list(keys.cancelled), 'cancelled', true),
    dead: placeOf(reads.members(keys.dead), 'failed'),
    ...Object.fromEntries(
      Object.entries(groupPlaces(reads, keys)).map(([name, ids]) => [name, placeOf(ids, 'pending')]),
    ),
  };
}

function faultsOf(reads: KeyReads, key: string, id: string, name: string, place: Place): string[] {
  const status = reads.field(key, 'status');
  if (status === undefined) {
    return place.mayExpire ? [] : [`I1: ${id} is in ${name} and has no hash`];
  }
  const faults: string[] = [];
  if (status !== place.status) {
    faults.push(`I1: ${id} is in ${name} and its status is ${status}`);
  }
  const token = reads.field(key, 'claim_token');
  if (name === 'claims' && !token) {
    faults.push(`I2: ${id} is claimed without a token`);
  }
  if (name !== 'claims' && name !== 'processing' && token) {
    faults.push(`I2: ${id} is in ${name} and has the token ${token}`);
  }
  const [attempts, most] = [reads.field(key, 'attempts'), reads.field(key, 'max_attempts')];
  if (most && Number(attempts) > Number(most)) {
    faults.push(`I6: ${id} has ${attempts} of ${most} attempts`);
  }
  if (Number(attempts) < 0) {
    faults.push(`I6: ${id} has ${attempts} attempts`);
  }
  return faults;
}

/** The score of a job that no time starts. */
const NEVER = 253_402_300_799_000;

/** Returns jobs that wait for a signal which is there, and jobs that nothing could start. */
function misparked(reads: KeyReads, keys: QueueKeys): string[] {
  const faults: string[] = [];
  for (const id of reads.members(keys.scheduled)) {
    const due = reads.score(keys.scheduled, id);
    const hash = reads.hash(keys.job(id));
    if (hash === undefined || Object.keys(hash).length === 0) {
      continue; // a lost hash is a fault of its own
    }
    const { after, waits = '', signals = '' } = hash;
    const isParked = reads.score(keys.awaitingSignals, id) === due;
    if (due === NEVER && after === undefined && !/\t$/m.test(waits)) {
      faults.push(`signals: ${id} is due never, and waits for nothing`);
    }
    const open = [...waits.matchAll(/^([^\t]+)\tsignal\t\d+\t\d*\t$/gm)].map(([, name]) => name!);
    const came = open.find((name) => `\n${signals}`.includes(`\n${name}\t`));
    if (isParked && came !== undefined) {
      faults.push(`signals: ${id} waits for ${came}, which has come`);
    }
    if (isParked && waits === '') {
      faults.push(`signals: ${id} is parked and has no wait`);
    }
  }
  for (const id of reads.members(keys.awaitingSignals)) {
    if (reads.score(keys.awaitingSignals, id) === NEVER && reads.score(keys.scheduled, id) !== NEVER) {
      faults.push(`signals: ${id} is parked and not scheduled`);
    }
  }
  return faults;
}

/** Returns hashes without a place. Only a job that left its history may be one, for a while or while it is kept. */
function strays(reads: KeyReads, keys: QueueKeys, seen: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const kept = new Set(reads.members(keys.keptResults));
  for (const key of reads.like(keys.jobPrefix)) {
    const id = key.slice(keys.jobPrefix.length);
    const place = seen.get(id);
    const ttl = reads.ttl(key);
    if (ttl === -2) continue; // it has expired since
    if (ttl === -1 && kept.has(id)) continue; // others wait to read it
    if (ttl > 0 && reads.field(key, 'moved')) continue; // it says where a moved job is
    if (place === undefined && (ttl < 0 || ttl > 10_000)) {
      faults.push(`I1: ${id} is nowhere, and lives on (${ttl} ms)`);
    }
    if (ttl >= 0 && place !== undefined && place !== 'completed' && place !== 'cancelled') {
      faults.push(`I1: ${id} is in ${place} and would expire`);
    }
  }
  return faults;
}

/** Returns the statuses of which the statistics count more or fewer jobs than there are. */
function miscounts(reads: KeyReads, keys: QueueKeys, stats: QueueStats): string[] {
  const places = placesOf(reads, keys);
  const count = (...names: string[]) => names.reduce((sum, name) => sum + places[name]!.ids.length, 0);
  const expected = {
    pending: count('pending', 'prioritized', ...Object.keys(places).filter((name) => name.startsWith('group '))),
    scheduled: count('scheduled'),
    processing: count('claims', 'processing'),
    completed: count('completed'),
    cancelled: count('cancelled'),
    failed: count('dead'),
  };
  const parked = reads
    .members(keys.awaitingSignals)
    .filter((id) => reads.score(keys.awaitingSignals, id)! > stats.at.getTime());
  if ((stats.parked ?? 0) !== parked.length) {
    return [`signals: stats count ${stats.parked ?? 0} parked of ${parked.length}`];
  }
  return Object.entries(expected)
    .filter(([status, size]) => stats[status as keyof typeof expected] !== size)
    .map(([status, size]) => `I1: stats count ${stats[status as keyof typeof expected]} ${status} of ${size}`);
}

/** Returns the kinds of error that count fewer dead letters than there are. The next tidy corrects one that counts more. */
function miscountedKinds(reads: KeyReads, keys: QueueKeys): string[] {
  const found = reads.members(keys.dead).map((id) => reads.field(keys.job(id), 'error_kind'));
  const counted = reads.hash(keys.errorKinds) ?? {};
  return [...new Set([...Object.keys(counted), ...found])].flatMap((kind) => {
    const size = found.filter((each) => each === kind).length;
    const count = kind === undefined ? size : Number(counted[kind]?.split(' ')[0] ?? 0);
    return count >= size ? [] : [`I1: ${count} dead letters are counted as ${kind}, of ${size}`];
  });
}
