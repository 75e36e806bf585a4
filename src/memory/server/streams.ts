// The commands on streams and their consumer groups. See commands.ts.
import { LuaTable, type LuaValue } from '../lua/values.js';
import { optionsOf, refuse, SYNTAX_ERROR, whole } from './arguments.js';
import { Stream, type Group, type StreamEntry, type StreamId, type Keyspace } from './keyspace.js';

const OK = () => LuaTable.of({ ok: 'OK' });

const INVALID_ID = 'ERR Invalid stream ID specified as stream command argument';

export function streamCommands(keys: Keyspace) {
  const stream = (key: string) => keys.read(key, 'stream');
  const range = (key: string, [from, to]: [string, string], options: string[], isReverse = false): LuaValue => {
    const counts = optionsOf(options, { COUNT: 1 }).get('COUNT');
    const count = counts ? whole(counts[0]!) : Infinity;
    const [low, high] = [rangeEnd(from, 0), rangeEnd(to, Infinity)];
    if (count === 0) return false;
    const isWithin = ({ id }: StreamEntry): boolean => {
      const [above, below] = [compare(id, low.id), compare(high.id, id)];
      return (low.isExcluded ? above > 0 : above >= 0) && (high.isExcluded ? below > 0 : below >= 0);
    };
    const found = stream(key)?.entries.filter(isWithin) ?? [];
    return entriesReply((isReverse ? found.toReversed() : found).slice(0, count < 0 ? Infinity : count));
  };
  const groupOf = (key: string, name: string): { stream: Stream; group: Group } => {
    const found = stream(key);
    const group = found?.groups.get(name);
    return found && group
      ? { stream: found, group }
      : refuse(`NOGROUP No such key '${key}' or consumer group '${name}'`);
  };
  return {
    XADD: (key: string, ...args: string[]): LuaValue => {
      const { isMade, trim, rest } = addOptions(args);
      const [asked, ...fields] = rest;
      if (asked === undefined || fields.length === 0 || fields.length % 2 === 1) {
        refuse("ERR wrong number of arguments for 'xadd' command");
      }
      if (!isMade && !stream(key)) return false;
      const last = stream(key)?.last ?? [0, 0];
      const id = nextId(asked, last, keys.nowMs());
      const found = keys.write(key, 'stream', () => new Stream());
      found.last = id;
      found.entries.push({ id, fields });
      trim?.(found);
      return idText(id);
    },
    XLEN: (key: string): number => stream(key)?.entries.length ?? 0,
    XRANGE: (key: string, from: string, to: string, ...options: string[]): LuaValue =>
      range(key, [from, to], options),
    XREVRANGE: (key: string, to: string, from: string, ...options: string[]): LuaValue =>
      range(key, [from, to], options, true),
    XGROUP: (verb: string, ...[key, name, from, ...options]: string[]): LuaValue => {
      if (verb.toUpperCase() !== 'CREATE' || key === undefined || name === undefined || from === undefined) {
        return refuse(`ERR unknown subcommand or wrong number of arguments for '${verb}'`);
      }
      const isMade = optionsOf(options, { MKSTREAM: 0 }).size > 0;
      if (!isMade && !stream(key)) refuse('ERR The XGROUP subcommand requires the key to exist.');
      const found = keys.write(key, 'stream', () => new Stream());
      if (found.groups.has(name)) refuse('BUSYGROUP Consumer Group name already exists');
      found.groups.set(name, { last: from === '$' ? found.last : idOf(from, 0), pending: new Map() });
      return OK();
    },
    /** Reads entries that no consumer of the group had, of one stream. */
    XREADGROUP: (...args: string[]): LuaValue => {
      const [word, name, consumer, ...rest] = args;
      const at = rest.findIndex((each) => each.toUpperCase() === 'STREAMS');
      const [key, from, ...others] = rest.slice(at + 1);
      if (word!.toUpperCase() !== 'GROUP' || at < 0 || key === undefined || from !== '>' || others.length > 0) {
        return refuse(SYNTAX_ERROR);
      }
      const counts = optionsOf(rest.slice(0, at), { COUNT: 1 }).get('COUNT');
      const count = (counts && whole(counts[0]!)) || Infinity;
      const { stream: found, group } = groupOf(key, name!);
      const fresh = found.entries.filter(({ id }) => compare(id, group.last) > 0).slice(0, count);
      if (fresh.length === 0) return false;
      for (const { id } of fresh) {
        group.last = id;
        group.pending.set(idText(id), { id, consumer: consumer!, deliveredAt: keys.nowMs() });
      }
      return new LuaTable([new LuaTable([key, entriesReply(fresh)])]);
    },
    XAUTOCLAIM: (key: string, name: string, consumer: string, ...args: string[]): LuaValue => {
      const [idle, start, ...options] = args as [string, string, ...string[]];
      const counts = optionsOf(options, { COUNT: 1 }).get('COUNT');
      const count = counts ? whole(counts[0]!) : 100;
      const [idleMs, from, now] = [Math.max(0, whole(idle)), idOf(start, 0), keys.nowMs()];
      const { stream: found, group } = groupOf(key, name);
      const owed = [...group.pending.values()].toSorted((a, b) => compare(a.id, b.id));
      const [claimed, gone]: [StreamEntry[], string[]] = [[], []];
      let next: StreamId = [0, 0];
      for (const { id, deliveredAt } of owed.filter((each) => compare(each.id, from) >= 0)) {
        if (claimed.length + gone.length >= count) {
          next = id;
          break;
        }
        if (now - deliveredAt < idleMs) continue;
        const entry = found.entries.find((each) => compare(each.id, id) === 0);
        if (entry) {
          group.pending.set(idText(id), { id, consumer, deliveredAt: now });
          claimed.push(entry);
        } else {
          group.pending.delete(idText(id));
          gone.push(idText(id));
        }
      }
      return new LuaTable([idText(next), entriesReply(claimed), new LuaTable(gone)]);
    },
    XACK: (key: string, name: string, ...ids: string[]): number => {
      const group = stream(key)?.groups.get(name);
      return group ? ids.filter((id) => group.pending.delete(idText(idOf(id, 0)))).length : 0;
    },
  };
}

/** Reads the options of XADD, which end at the id. */
function addOptions(args: readonly string[]) {
  let isMade = true;
  let trim: ((stream: Stream) => void) | undefined;
  let at = 0;
  for (;;) {
    const option = args[at]?.toUpperCase();
    if (option === 'NOMKSTREAM') {
      isMade = false;
      at++;
    } else if (option === 'MAXLEN' || option === 'MINID') {
      if (args[at + 1] === '~' || args[at + 1] === '=') at++;
      trim = trimBy(option, args[at + 1] ?? '');
      at += 2;
    } else {
      return { isMade, trim, rest: args.slice(at) };
    }
  }
}

/** Returns what trims a stream. It trims exactly, as a server may do for an approximate bound too. */
function trimBy(option: 'MAXLEN' | 'MINID', bound: string): (stream: Stream) => void {
  if (option === 'MINID') {
    const least = idOf(bound, 0);
    return (stream) => void (stream.entries = stream.entries.filter(({ id }) => compare(id, least) >= 0));
  }
  const most = whole(bound);
  if (most < 0) refuse('ERR The MAXLEN argument must be >= 0.');
  return ({ entries }) => void entries.splice(0, Math.max(0, entries.length - most));
}

function nextId(asked: string, last: StreamId, now: number): StreamId {
  const [lastMs, lastSeq] = last;
  if (asked === '*') return now > lastMs ? [now, 0] : [lastMs, lastSeq + 1];
  const open = /^(\d+)-\*$/.exec(asked);
  const ms = open ? whole(open[1]!) : 0;
  const id: StreamId = open ? [ms, ms === lastMs ? lastSeq + 1 : 0] : idOf(asked, 0);
  if (compare(id, [0, 0]) === 0) refuse('ERR The ID specified in XADD must be greater than 0-0');
  if (compare(id, last) <= 0) {
    refuse('ERR The ID specified in XADD is equal or smaller than the target stream top item');
  }
  return id;
}

function rangeEnd(text: string, usualSeq: number): { id: StreamId; isExcluded: boolean } {
  if (text === '-') return { id: [0, 0], isExcluded: false };
  if (text === '+') return { id: [Infinity, Infinity], isExcluded: false };
  const isExcluded = text.startsWith('(');
  return { id: idOf(isExcluded ? text.slice(1) : text, usualSeq), isExcluded };
}

/** Reads an id, whose number behind the time may be left out. */
function idOf(text: string, usualSeq: number): StreamId {
  const [, ms, seq] = /^(\d{1,19})(?:-(\d{1,19}))?$/.exec(text) ?? refuse(INVALID_ID);
  return [Number(ms), seq === undefined ? usualSeq : Number(seq)];
}

function compare([aMs, aSeq]: StreamId, [bMs, bSeq]: StreamId): number {
  return aMs === bMs ? (aSeq === bSeq ? 0 : aSeq - bSeq) : aMs - bMs;
}

function idText([ms, seq]: StreamId): string {
  return `${ms}-${seq}`;
}

function entriesReply(entries: readonly StreamEntry[]): LuaTable {
  return new LuaTable(entries.map(({ id, fields }) => new LuaTable([idText(id), new LuaTable([...fields])])));
}
