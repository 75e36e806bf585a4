// The keys of a queue as the invariants read them. Those of a server in memory are read in place, those of Redis are copied before.
import type { Redis } from 'ioredis';
import { toBytes, toText } from '#memory/lua/values.js';
import type { ScriptServer } from '#memory/server/script-server.js';
import { keysLike, readEach } from '../redis/redis-reads.js';

export interface KeyReads {
  /** Returns the names of all keys that begin so. */
  like(prefix: string): string[];
  list(key: string): readonly string[];
  /** Returns the members of a sorted set, by their scores. */
  members(key: string): string[];
  score(key: string, member: string): number | undefined;
  /** Returns a hash; undefined without one, also where the key has another type. */
  hash(key: string): Readonly<Record<string, string>> | undefined;
  field(key: string, field: string): string | undefined;
  /** Returns how long the key is kept, in ms: -1 for ever, -2 if it is gone. */
  ttl(key: string): number;
}

interface Copy {
  readonly list?: readonly string[];
  readonly scores?: ReadonlyMap<string, number>;
  readonly hash?: Readonly<Record<string, string>>;
  readonly ttl: number;
}

const READS: Readonly<Record<string, (pipeline: ReturnType<Redis['pipeline']>, key: string) => unknown>> = {
  list: (pipeline, key) => pipeline.lrange(key, 0, -1),
  zset: (pipeline, key) => pipeline.zrange(key, 0, '-1', 'WITHSCORES'),
  hash: (pipeline, key) => pipeline.hgetall(key),
};

/** Copies the lists, sorted sets and hashes of Redis whose keys begin so. */
export async function readKeysLike(redis: Redis, prefix: string): Promise<KeyReads> {
  return readKeys(redis, await keysLike(redis, `${prefix}*`));
}

/** Copies some lists, sorted sets and hashes of Redis. */
export async function readKeys(redis: Redis, names: readonly string[]): Promise<KeyReads> {
  const types = await readEach<string, string>(redis, names, (pipeline, key) => pipeline.type(key));
  const read = names.map((key, i) => ({ key, type: types[i]! })).filter(({ type }) => type in READS);
  const values = await readEach<(typeof read)[number], unknown>(redis, read, (pipeline, { key, type }) =>
    READS[type]!(pipeline, key),
  );
  const ttls = await readEach<(typeof read)[number], number>(redis, read, (pipeline, { key }) =>
    pipeline.pttl(key),
  );
  const copies = new Map(read.map(({ key, type }, i) => [key, copyOf(type, values[i], ttls[i]!)]));
  return {
    like: (prefix) => [...copies.keys()].filter((key) => key.startsWith(prefix)),
    list: (key) => copies.get(key)?.list ?? [],
    members: (key) => [...(copies.get(key)?.scores?.keys() ?? [])],
    score: (key, member) => copies.get(key)?.scores?.get(member),
    hash: (key) => copies.get(key)?.hash,
    field: (key, field) => copies.get(key)?.hash?.[field],
    ttl: (key) => copies.get(key)?.ttl ?? -2,
  };
}

function copyOf(type: string, value: unknown, ttl: number): Copy {
  if (type === 'hash') return { hash: value as Record<string, string>, ttl };
  const items = value as string[];
  if (type === 'list') return { list: items, ttl };
  const pairs = items.flatMap((member, i) => (i % 2 === 0 ? [[member, Number(items[i + 1])] as const] : []));
  return { scores: new Map(pairs), ttl };
}

/** Reads the keys of a server in memory. `like` knows the keys of the moment at which it is first called. */
export function keysInMemory(server: ScriptServer): KeyReads {
  const { keys } = server;
  let names: string[] | undefined;
  const hash = (key: string) => {
    const value = keys.entry(toBytes(key))?.value;
    return value?.type === 'hash' ? value : undefined;
  };
  return {
    like: (prefix) => (names ??= keys.keys().map(toText)).filter((key) => key.startsWith(prefix)),
    list: (key) => keys.read(toBytes(key), 'list')?.all().map(toText) ?? [],
    members: (key) =>
      keys
        .read(toBytes(key), 'zset')
        ?.all()
        .map(({ member }) => toText(member)) ?? [],
    score: (key, member) => keys.read(toBytes(key), 'zset')?.score(toBytes(member)),
    hash: (key) => {
      const found = hash(key);
      return found && Object.fromEntries(found.keys().map((field) => [toText(field), toText(found.get(field)!)]));
    },
    field: (key, field) => {
      const value = hash(key)?.get(toBytes(field));
      return value === undefined ? undefined : toText(value);
    },
    ttl: (key) => {
      const entry = keys.entry(toBytes(key));
      if (!entry) return -2;
      return entry.expiresAt === undefined ? -1 : entry.expiresAt - keys.nowMs();
    },
  };
}
