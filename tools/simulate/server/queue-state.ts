// The keys of a server as text, to compare them before and after a repeated call.
import { toText } from '#memory/lua/values.js';
import type { Entry } from '#memory/server/keyspace.js';
import type { SimulatedServer } from './simulated-server.js';

/** Who is awake is no state of the jobs. A repeated call may wake one more, or nudge a worker again. */
const WAKES = /:(wake|waiters)$|:nudge:[^:]+$/;

/** Returns all keys of a server with their values. */
export function stateOf({ keys }: SimulatedServer): string {
  const lines = keys.keys().flatMap((key) => (WAKES.test(key) ? [] : [[toText(key), valueOf(keys.entry(key)!)]]));
  return JSON.stringify(lines.toSorted(byFirst));
}

function valueOf({ value }: Entry): unknown {
  switch (value.type) {
    case 'string':
      return value.value;
    case 'hash':
      return value
        .keys()
        .map((field) => [field, value.get(field)!] as const)
        .toSorted(byFirst);
    case 'list':
      return value.all();
    case 'zset':
      return value.all().map(({ member, score }) => [member, score]);
    case 'stream':
      return value.entries;
  }
}

function byFirst([one]: readonly unknown[], [other]: readonly unknown[]): number {
  return (one as string) < (other as string) ? -1 : 1;
}
