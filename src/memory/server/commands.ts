// The commands that scripts and stores send, on keys in memory. They take bytes and return values of Lua: false for nil, a
// table for an array. What a command of Redis would refuse, they refuse, also options that they do not know.
import type { CheckCommand } from '../lua/runtime.js';
import { LuaTable, type LuaValue } from '../lua/values.js';
import {
  boundOf,
  optionsOf,
  rangeOf,
  refuse,
  scoreOf,
  sumOf,
  SYNTAX_ERROR,
  whole,
  type Bound,
} from './arguments.js';
import { Hash, List, SortedSet, Text, type Scored, type Keyspace } from './keyspace.js';
import { streamCommands } from './streams.js';

export type Commands = ReturnType<typeof commandsOf>;

/** The number of words of each command, its name included; below zero: at least so many. As COMMAND INFO says it. */
export const ARITY = {
  EXISTS: -2,
  PERSIST: 2,
  PEXPIRE: -3,
  PEXPIREAT: -3,
  PTTL: 2,
  RENAME: 3,
  SCAN: -2,
  TIME: 1,
  TYPE: 2,
  UNLINK: -2,
  GET: 2,
  INCR: 2,
  INCRBY: 3,
  SET: -3,
  HDEL: -3,
  HEXISTS: 3,
  HGET: 3,
  HGETALL: 2,
  HINCRBY: 4,
  HKEYS: 2,
  HLEN: 2,
  HMGET: -3,
  HRANDFIELD: -2,
  HSCAN: -3,
  HSET: -4,
  HSETNX: 4,
  HSTRLEN: 3,
  LINDEX: 3,
  LLEN: 2,
  LPOP: -2,
  LPOS: -3,
  LPUSH: -3,
  LRANGE: 4,
  LREM: 4,
  LSET: 4,
  RPOP: -2,
  RPUSH: -3,
  ZADD: -4,
  ZCARD: 2,
  ZCOUNT: 4,
  ZINCRBY: 4,
  ZMSCORE: -3,
  ZPOPMIN: -2,
  ZRANGE: -4,
  ZREM: -3,
  ZREMRANGEBYRANK: 4,
  ZREMRANGEBYSCORE: 4,
  ZSCAN: -3,
  ZSCORE: 3,
  XACK: -4,
  XADD: -5,
  XAUTOCLAIM: -6,
  XGROUP: -2,
  XLEN: 2,
  XRANGE: -4,
  XREADGROUP: -7,
  XREVRANGE: -4,
  PUBLISH: 3,
  PUBSUB: -2,
  SPUBLISH: 3,
} satisfies Record<keyof Commands, number>;

/** Says what is wrong with a command and the number of its arguments. An infinite number is one that is not known. */
export const checkCommand: CheckCommand = (name, count) => {
  if (!Object.hasOwn(ARITY, name)) return `ERR unknown command '${name}'`;
  const arity = ARITY[name as keyof typeof ARITY];
  const fits = count === Infinity || (arity < 0 ? count + 1 >= -arity : count + 1 === arity);
  return fits ? undefined : `ERR wrong number of arguments for '${name.toLowerCase()}' command`;
};

const OK = () => LuaTable.of({ ok: 'OK' });

/** Returns the commands of a server by their names in capitals. */
export function commandsOf(keys: Keyspace) {
  return {
    ...keyCommands(keys),
    ...textCommands(keys),
    ...hashCommands(keys),
    ...listCommands(keys),
    ...sortedSetCommands(keys),
    ...streamCommands(keys),
    ...channelCommands(keys),
  };
}

const EXPIRE_FLAGS = { NX: 0, XX: 0, GT: 0, LT: 0 };

function keyCommands(keys: Keyspace) {
  const expire = (key: string, at: number, given: readonly string[]): number => {
    const flags = optionsOf(given, EXPIRE_FLAGS);
    if (flags.size > 1 && (flags.has('NX') || (flags.has('GT') && flags.has('LT')))) {
      refuse('ERR NX and XX, GT or LT options at the same time are not compatible');
    }
    const entry = keys.entry(key);
    if (!entry) return 0;
    const { expiresAt = Infinity } = entry;
    const isRefused =
      (flags.has('NX') && expiresAt !== Infinity) ||
      (flags.has('XX') && expiresAt === Infinity) ||
      (flags.has('GT') && at <= expiresAt) ||
      (flags.has('LT') && at >= expiresAt);
    if (isRefused) return 0;
    keys.expire(key, entry, at);
    return 1;
  };
  return {
    UNLINK: (...names: string[]): number => names.filter((key) => keys.delete(key)).length,
    EXISTS: (...names: string[]): number => names.filter((key) => keys.entry(key)).length,
    TYPE: (key: string): LuaTable => LuaTable.of({ ok: keys.entry(key)?.value.type ?? 'none' }),
    PEXPIRE: (key: string, ms: string, ...flags: string[]): number => expire(key, keys.nowMs() + whole(ms), flags),
    PEXPIREAT: (key: string, at: string, ...flags: string[]): number => expire(key, whole(at), flags),
    PTTL: (key: string): number => {
      const entry = keys.entry(key);
      if (!entry) return -2;
      return entry.expiresAt === undefined ? -1 : entry.expiresAt - keys.nowMs();
    },
    PERSIST: (key: string): number => {
      const entry = keys.entry(key);
      if (entry?.expiresAt === undefined) return 0;
      entry.expiresAt = undefined;
      return 1;
    },
    RENAME: (from: string, to: string): LuaTable => {
      const entry = keys.entry(from) ?? refuse('ERR no such key');
      keys.delete(from);
      keys.put(to, entry.value, entry.expiresAt);
      return LuaTable.of({ ok: 'OK' });
    },
    /** Returns all keys at once. */
    SCAN: (cursor: string, ...options: string[]): LuaTable => {
      const { match, type } = scanOptionsOf(cursor, options, { TYPE: 1 });
      const found = keys
        .keys()
        .filter((key) => match(key) && (type === undefined || keys.entry(key)!.value.type === type));
      return new LuaTable(['0', new LuaTable(keys.host.dialect.order(found))]);
    },
    TIME: (): LuaTable => {
      const us = keys.host.nowUs();
      return new LuaTable([String(Math.floor(us / 1e6)), String(us % 1e6)]);
    },
  };
}

/** Reads the options of the commands that scan. `count` is 10 without the option, as in Redis. */
function scanOptionsOf(cursor: string, options: readonly string[], more: Readonly<Record<string, number>> = {}) {
  if (!/^\d+$/.test(cursor)) refuse('ERR invalid cursor');
  const found = optionsOf(options, { MATCH: 1, COUNT: 1, ...more });
  const count = found.has('COUNT') ? whole(found.get('COUNT')![0]!) : 10;
  if (count < 1) refuse(SYNTAX_ERROR);
  const pattern = found.get('MATCH')?.[0];
  const regex = pattern === undefined ? undefined : globOf(pattern);
  const match = (text: string): boolean => regex === undefined || regex.test(text);
  return { count, match, type: found.get('TYPE')?.[0]?.toLowerCase() };
}

/** Returns a glob pattern as a regular expression. */
function globOf(pattern: string): RegExp {
  const source = pattern.replace(
    /\\([^])|\[(\^?)((?:\\[^]|[^\]\\])*)\]|([*?])|([$^.+()|{}[\]/\\])/g,
    (...[, escaped, not, set, wild, special]: (string | undefined)[]) => {
      if (escaped !== undefined) return escaped.replace(/[^\w\s]/, '\\$&');
      if (set !== undefined) return `[${not}${set.replace(/[[\]^]/g, '\\$&')}]`;
      if (wild !== undefined) return wild === '*' ? '[^]*' : '[^]';
      return `\\${special}`;
    },
  );
  return new RegExp(`^${source}$`);
}

const SET_OPTIONS = { NX: 0, XX: 0, KEEPTTL: 0, PX: 1, EX: 1, PXAT: 1 };

function textCommands(keys: Keyspace) {
  const add = (key: string, by: string): number => {
    whole(by);
    const known = keys.read(key, 'string');
    const sum = sumOf(known?.value ?? '0', by);
    if (known) known.value = sum;
    else keys.put(key, new Text(sum));
    return Number(sum);
  };
  return {
    GET: (key: string): LuaValue => keys.read(key, 'string')?.value ?? false,
    SET: (key: string, value: string, ...given: string[]): LuaValue => {
      const options = optionsOf(given, SET_OPTIONS);
      const times = ['PX', 'EX', 'PXAT', 'KEEPTTL'].filter((name) => options.has(name));
      if (times.length > 1 || (options.has('NX') && options.has('XX'))) refuse(SYNTAX_ERROR);
      const [time] = times;
      const amount = time === undefined || time === 'KEEPTTL' ? 0 : whole(options.get(time)![0]!);
      if (time !== undefined && time !== 'KEEPTTL' && amount <= 0) {
        refuse("ERR invalid expire time in 'set' command");
      }
      const known = keys.entry(key);
      if ((options.has('NX') && known) || (options.has('XX') && !known)) return false;
      const now = keys.nowMs();
      const expiresAt = { PX: now + amount, EX: now + 1_000 * amount, PXAT: amount, KEEPTTL: known?.expiresAt };
      keys.put(key, new Text(value), time === undefined ? undefined : expiresAt[time as keyof typeof expiresAt]);
      return OK();
    },
    INCR: (key: string): number => add(key, '1'),
    INCRBY: add,
  };
}

function hashCommands(keys: Keyspace) {
  const { dialect, random } = keys.host;
  const hash = (key: string) => keys.read(key, 'hash');
  const fieldsOf = (key: string): string[] => dialect.order(hash(key)?.keys() ?? []);
  const flat = (key: string, fields: readonly string[]): string[] => {
    const found = hash(key);
    return fields.flatMap((field) => [field, found!.get(field)!]);
  };
  const set = (key: string, ...pairs: string[]): number => {
    if (pairs.length % 2 === 1) refuse("ERR wrong number of arguments for 'hset' command");
    const found = keys.write(key, 'hash', () => new Hash());
    const before = found.size;
    for (let i = 0; i < pairs.length; i += 2) found.set(pairs[i]!, pairs[i + 1]!);
    keys.host.hashWritten?.(key, pairs);
    return found.size - before;
  };
  return {
    HGET: (key: string, field: string): LuaValue => hash(key)?.get(field) ?? false,
    HMGET: (key: string, ...fields: string[]): LuaTable => {
      const found = hash(key);
      const values: LuaValue[] = fields; // in place, because nobody else has the list
      for (let i = 0; i < fields.length; i++) values[i] = found?.get(fields[i]!) ?? false;
      return new LuaTable(values);
    },
    HSET: set,
    HSETNX: (key: string, field: string, value: string): number =>
      hash(key)?.get(field) === undefined ? set(key, field, value) : 0,
    HDEL: (key: string, ...fields: string[]): number => {
      const found = hash(key);
      if (!found) return 0;
      const count = fields.filter((field) => found.delete(field)).length;
      keys.settle(key, found);
      return count;
    },
    HLEN: (key: string): number => hash(key)?.size ?? 0,
    HEXISTS: (key: string, field: string): number => (hash(key)?.get(field) === undefined ? 0 : 1),
    HSTRLEN: (key: string, field: string): number => hash(key)?.get(field)?.length ?? 0,
    HINCRBY: (key: string, field: string, by: string): number => {
      whole(by);
      const known = hash(key)?.get(field) ?? '0';
      const sum = sumOf(known, by, 'ERR hash value is not an integer');
      keys.write(key, 'hash', () => new Hash()).set(field, sum);
      return Number(sum);
    },
    HGETALL: (key: string): LuaTable => new LuaTable(flat(key, fieldsOf(key))),
    HKEYS: (key: string): LuaTable => new LuaTable(fieldsOf(key)),
    HRANDFIELD: (key: string, count?: string, ...options: string[]): LuaValue => {
      const withValues = optionsOf(options, { WITHVALUES: 0 }).size > 0;
      const fields = hash(key)?.keys() ?? [];
      const pick = () => Math.floor(random() * fields.length);
      if (count === undefined) return fields[pick()] ?? false;
      const most = whole(count);
      const chosen: string[] = [];
      if (most < 0) for (let i = 0; i < -most && fields.length > 0; i++) chosen.push(fields[pick()]!);
      else while (chosen.length < most && fields.length > 0) chosen.push(fields.splice(pick(), 1)[0]!);
      return new LuaTable(withValues ? flat(key, chosen) : chosen);
    },
    /** Returns all fields at once. */
    HSCAN: (key: string, cursor: string, ...options: string[]): LuaTable => {
      const { match } = scanOptionsOf(cursor, options);
      return new LuaTable(['0', new LuaTable(flat(key, fieldsOf(key).filter(match)))]);
    },
  };
}

function listCommands(keys: Keyspace) {
  const list = (key: string) => keys.read(key, 'list');
  const push = (key: string, values: readonly string[], put: 'push' | 'unshift'): number => {
    const found = keys.write(key, 'list', () => new List());
    for (const value of values) found[put](value);
    keys.host.filled(key);
    return found.size;
  };
  const pop = (key: string, count: string | undefined, take: 'pop' | 'shift'): LuaValue => {
    const most = count === undefined ? 1 : whole(count, 'ERR value is out of range, must be positive');
    if (most < 0) refuse('ERR value is out of range, must be positive');
    const found = list(key);
    if (!found) return false;
    const values: string[] = [];
    for (let left = Math.min(most, found.size); left > 0; left--) values.push(found[take]()!);
    keys.settle(key, found);
    return count === undefined ? values[0] : new LuaTable(values);
  };
  const popLeft = (key: string, count?: string, ...rest: string[]): LuaValue =>
    rest.length > 0 ? refuse("ERR wrong number of arguments for 'lpop' command") : pop(key, count, 'shift');
  const popRight = (key: string, count?: string, ...rest: string[]): LuaValue =>
    rest.length > 0 ? refuse("ERR wrong number of arguments for 'rpop' command") : pop(key, count, 'pop');
  return {
    LLEN: (key: string): number => list(key)?.size ?? 0,
    LPUSH: (key: string, ...values: string[]): number => push(key, values, 'unshift'),
    RPUSH: (key: string, ...values: string[]): number => push(key, values, 'push'),
    LPOP: popLeft,
    RPOP: popRight,
    LINDEX: (key: string, index: string): LuaValue => {
      const found = list(key);
      return found?.at(whole(index)) ?? false;
    },
    LRANGE: (key: string, from: string, to: string): LuaTable => {
      const [start, end] = [whole(from), whole(to)];
      const found = list(key);
      return new LuaTable(found ? found.slice(...rangeOf(start, end, found.size)) : []);
    },
    LREM: (key: string, count: string, value: string): number => {
      const most = whole(count);
      const found = list(key);
      if (!found) return 0;
      const removed = Math.abs(most) === 1 ? removeOne(found, value, most) : removeMany(found, value, most);
      keys.settle(key, found);
      return removed;
    },
    LSET: (key: string, index: string, value: string): LuaValue => {
      const found = list(key);
      if (!found) return refuse('ERR no such key');
      if (!found.put(whole(index), value)) refuse('ERR index out of range');
      return OK();
    },
    LPOS: (key: string, value: string, ...given: string[]): LuaValue => {
      const options = optionsOf(given, { RANK: 1, COUNT: 1, MAXLEN: 1 });
      const option = (name: string, usual: number) => (options.has(name) ? whole(options.get(name)![0]!) : usual);
      const [rank, most, longest] = [option('RANK', 1), option('COUNT', 1), option('MAXLEN', 0)];
      if (rank === 0) refuse("ERR RANK can't be zero: use 1 to start from the first match");
      if (most < 0) refuse("ERR COUNT can't be negative");
      if (longest < 0) refuse("ERR MAXLEN can't be negative");
      const found = list(key);
      const places = found
        ? placesOf(found, value, { rank, most: most || Infinity, longest: longest || Infinity })
        : [];
      return options.has('COUNT') ? new LuaTable(places) : (places[0] ?? false);
    },
  };
}

/** Removes the first item of a value, or the last one for a step of -1. */
function removeOne(list: List, value: string, step: number): number {
  for (let i = step > 0 ? 0 : list.size - 1; i >= 0 && i < list.size; i += step) {
    if (list.at(i) === value) {
      list.removeAt(i);
      return 1;
    }
  }
  return 0;
}

function removeMany(list: List, value: string, most: number): number {
  let left = most === 0 ? Infinity : Math.abs(most);
  const items = most < 0 ? list.all().toReversed() : list.all();
  const kept = items.filter((each) => each !== value || left-- <= 0);
  const removed = items.length - kept.length;
  list.replace(most < 0 ? kept.toReversed() : kept);
  return removed;
}

function placesOf(
  list: List,
  value: string,
  { rank, most, longest }: { rank: number; most: number; longest: number },
): number[] {
  const places: number[] = [];
  let left = Math.abs(rank);
  for (let looked = 0; looked < Math.min(list.size, longest) && places.length < most; looked++) {
    const at = rank > 0 ? looked : list.size - 1 - looked;
    if (list.at(at) === value && --left <= 0) places.push(at);
  }
  return places;
}

const NO_FLAGS: ReadonlySet<string> = new Set<string>();
const ZADD_FLAGS = new Set(['NX', 'XX', 'GT', 'LT', 'CH']);
const ZRANGE_OPTIONS = { BYSCORE: 0, REV: 0, WITHSCORES: 0, LIMIT: 2 };

function sortedSetCommands(keys: Keyspace) {
  const { dialect } = keys.host;
  const zset = (key: string) => keys.read(key, 'zset');
  const made = (key: string) => keys.write(key, 'zset', () => new SortedSet());
  const scores = (found: SortedSet | undefined, member: string): LuaValue => {
    const score = found?.score(member);
    return score === undefined ? false : dialect.score(score);
  };
  const reply = (found: readonly Scored[], withScores = true): LuaTable =>
    new LuaTable(found.flatMap(({ member, score }) => (withScores ? [member, dialect.score(score)] : [member])));
  const drop = (key: string, found: SortedSet, first: number, last: number): number => {
    const dropped = first <= last ? found.slice(first, last) : [];
    for (const { member } of dropped) found.delete(member);
    keys.settle(key, found);
    return dropped.length;
  };
  return {
    ZADD: (key: string, ...args: string[]): LuaValue => {
      const { flags, pairs } = addedPairs(args);
      const found = flags.has('XX') ? zset(key) : made(key);
      if (!found) return 0;
      let [added, changed] = [0, 0];
      for (const [score, member] of pairs) {
        const known = found.score(member);
        if (known === undefined) {
          if (flags.has('XX')) continue;
          added++;
        } else {
          const isRefused =
            flags.has('NX') || (flags.has('GT') && score <= known) || (flags.has('LT') && score >= known);
          if (isRefused || score === known) continue;
          changed++;
        }
        found.set(member, score);
      }
      if (added > 0) keys.host.filled(key);
      keys.settle(key, found);
      return flags.has('CH') ? added + changed : added;
    },
    ZINCRBY: (key: string, by: string, member: string): LuaValue => {
      const step = scoreOf(by);
      const score = (zset(key)?.score(member) ?? 0) + step;
      if (Number.isNaN(score)) refuse('ERR resulting score is not a number (NaN)');
      made(key).set(member, score);
      keys.host.filled(key);
      return dialect.score(score);
    },
    ZREM: (key: string, ...members: string[]): number => {
      const found = zset(key);
      if (!found) return 0;
      const count = members.filter((member) => found.delete(member)).length;
      keys.settle(key, found);
      return count;
    },
    ZCARD: (key: string): number => zset(key)?.size ?? 0,
    ZSCORE: (key: string, member: string): LuaValue => scores(zset(key), member),
    ZMSCORE: (key: string, ...members: string[]): LuaTable => {
      const found = zset(key);
      return new LuaTable(members.map((member) => scores(found, member)));
    },
    ZCOUNT: (key: string, min: string, max: string): number => {
      const [low, high] = [boundOf(min), boundOf(max)];
      const found = zset(key);
      if (!found) return 0;
      const [first, last] = between(found, low, high);
      return Math.max(0, last - first + 1);
    },
    ZRANGE: (key: string, from: string, to: string, ...given: string[]): LuaTable => {
      const options = optionsOf(given, ZRANGE_OPTIONS);
      const isReverse = options.has('REV');
      const [offset, limit] = (options.get('LIMIT') ?? ['0', '-1']).map((text) => whole(text)) as [number, number];
      if (options.has('LIMIT') && !options.has('BYSCORE')) {
        refuse('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX');
      }
      const find = options.has('BYSCORE')
        ? rangeByScore(boundOf(isReverse ? to : from), boundOf(isReverse ? from : to))
        : rangeByRank(whole(from), whole(to), isReverse);
      const found = zset(key);
      if (!found || offset < 0) return new LuaTable();
      let [first, last] = find(found);
      const most = limit < 0 ? Infinity : limit;
      if (isReverse) {
        last -= offset;
        first = Math.max(first, last - most + 1);
      } else {
        first += offset;
        last = Math.min(last, first + most - 1);
      }
      const range = first > last ? [] : found.slice(first, last);
      return reply(isReverse ? range.toReversed() : range, options.has('WITHSCORES'));
    },
    ZPOPMIN: (key: string, count = '1', ...rest: string[]): LuaTable => {
      if (rest.length > 0) refuse(SYNTAX_ERROR);
      const most = whole(count, 'ERR value is out of range, must be positive');
      if (most < 0) refuse('ERR value is out of range, must be positive');
      const found = zset(key);
      if (!found) return new LuaTable();
      const popped = found.slice(0, Math.min(most, found.size) - 1);
      drop(key, found, 0, popped.length - 1);
      return reply(popped);
    },
    ZREMRANGEBYSCORE: (key: string, min: string, max: string): number => {
      const [low, high] = [boundOf(min), boundOf(max)];
      const found = zset(key);
      return found ? drop(key, found, ...between(found, low, high)) : 0;
    },
    ZREMRANGEBYRANK: (key: string, from: string, to: string): number => {
      const [start, end] = [whole(from), whole(to)];
      const found = zset(key);
      return found ? drop(key, found, ...rangeOf(start, end, found.size)) : 0;
    },
    ZSCAN: (key: string, cursor: string, ...options: string[]): LuaTable => {
      const { count, match } = scanOptionsOf(cursor, options);
      const found = zset(key);
      if (!found) return new LuaTable(['0', new LuaTable()]);
      // A small set comes at once, as one in a listpack does.
      const page = found.after(Number(cursor), found.size <= SMALL_SET ? Infinity : count);
      const isLast = page.length === 0 || found.after(page.at(-1)!.order, 1).length === 0;
      const next = isLast ? '0' : String(page.at(-1)!.order);
      return new LuaTable([next, reply(page.filter(({ member }) => match(member)))]);
    },
  };
}

const SMALL_SET = 128;

/** Reads the arguments of ZADD behind its key. */
function addedPairs(args: readonly string[]): {
  flags: ReadonlySet<string>;
  pairs: [score: number, member: string][];
} {
  let [flags, at] = [NO_FLAGS, 0];
  while (ZADD_FLAGS.has(args[at]?.toUpperCase() ?? '')) flags = new Set(flags).add(args[at++]!.toUpperCase());
  if (args.length === at || (args.length - at) % 2 === 1) refuse(SYNTAX_ERROR);
  if (flags.has('NX') && flags.has('XX')) refuse('ERR XX and NX options at the same time are not compatible');
  if (flags.size > 1 && [...flags].filter((flag) => ['NX', 'GT', 'LT'].includes(flag)).length > 1) {
    refuse('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  const pairs: [number, string][] = [];
  for (; at < args.length; at += 2) pairs.push([scoreOf(args[at]!), args[at + 1]!]);
  return { flags, pairs };
}

/** Returns the first and the last index of the members between two scores. */
function between(set: SortedSet, [min, isOver]: Bound, [max, isUnder]: Bound): [first: number, last: number] {
  return [set.indexOfScore(min, isOver), set.indexOfScore(max, !isUnder) - 1];
}

function rangeByScore(low: Bound, high: Bound): (set: SortedSet) => [number, number] {
  return (set) => between(set, low, high);
}

function rangeByRank(from: number, to: number, isReverse: boolean): (set: SortedSet) => [number, number] {
  return ({ size }) => {
    const [first, last] = rangeOf(from, to, size);
    return isReverse ? [size - 1 - last, size - 1 - first] : [first, last];
  };
}

function channelCommands({ host }: Keyspace) {
  const publish = (channel: string, message: string): number => host.publish(channel, message);
  return {
    PUBLISH: publish,
    SPUBLISH: publish,
    PUBSUB: (what: string, ...channels: string[]): LuaValue => {
      const asked = what.toUpperCase();
      if (asked === 'NUMPAT' && channels.length === 0) return 0;
      if (asked !== 'NUMSUB' && asked !== 'SHARDNUMSUB') refuse(`ERR unknown subcommand '${what}'`);
      return new LuaTable(channels.flatMap((channel): LuaValue[] => [channel, host.subscribersOf(channel)]));
    },
  };
}
