// Commands that only specs and clients of the pattern send. No script and no store does.
import { rangeOf, refuse, whole } from '#memory/server/arguments.js';
import type { Keyspace } from '#memory/server/keyspace.js';
import type { CommandTable } from '#memory/lua/runtime.js';
import { LuaTable, type LuaValue } from '#memory/lua/values.js';

const OK = () => LuaTable.of({ ok: 'OK' });

/** Returns more commands on the keys of a server. `known` has its own. */
export function extraCommands(keys: Keyspace, known: CommandTable): CommandTable {
  const list = (key: string) => keys.read(key, 'list');
  return {
    DBSIZE: () => keys.keys().length,
    FLUSHDB: () => {
      keys.clear();
      return OK();
    },
    DEL: (...names) => known.UNLINK!(...names),
    EXPIRE: (key, seconds, ...flags) => known.PEXPIRE!(key, String(1_000 * whole(seconds)), ...flags),
    TTL: (key) => {
      const ms = Number(known.PTTL!(key));
      return ms < 0 ? ms : Math.round(ms / 1_000);
    },
    RENAME: (from, to) => {
      const { value, expiresAt } = keys.entry(from) ?? refuse('ERR no such key');
      keys.delete(from);
      keys.put(to, value, expiresAt);
      return OK();
    },
    KEYS: (pattern) => (known.SCAN!('0', 'MATCH', pattern) as LuaTable).get(2),
    HVALS: (key) => {
      const hash = keys.read(key, 'hash');
      return new LuaTable((hash?.keys() ?? []).map((field): LuaValue => hash!.get(field)));
    },
    LMOVE: (from, to, side, other) => {
      const value = side.toUpperCase() === 'LEFT' ? known.LPOP!(from) : known.RPOP!(from);
      if (typeof value === 'string') known[other.toUpperCase() === 'LEFT' ? 'LPUSH' : 'RPUSH']!(to, value);
      return value;
    },
    LTRIM: (key, from, to) => {
      const found = list(key);
      if (found) {
        found.replace(found.slice(...rangeOf(whole(from), whole(to), found.size)));
        keys.settle(key, found);
      }
      return OK();
    },
    XDEL: (key, ...ids) => {
      const stream = keys.read(key, 'stream');
      if (!stream) return 0;
      const before = stream.entries.length;
      stream.entries = stream.entries.filter(({ id }) => !ids.includes(id.join('-')));
      return before - stream.entries.length;
    },
  };
}
