// A server in memory whose scripts have planted faults, and a store that reaches it over a network with faults.
import type { LuaScriptName } from '#queue/lua.generated.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import type { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Random } from '../chaos/random.js';
import { editedText, type Edit } from './plants/plant.js';

/** A server that counts its calls by script. */
export class PlantedServer extends ScriptServer {
  readonly calls = new Map<string, number>();

  constructor(
    clock: VirtualClock,
    private readonly edits: readonly Edit[],
  ) {
    super(() => clock.now(), { random: () => clock.random() });
  }

  override run(text: string, keys: string[], args: string[], name = ''): ReturnType<ScriptServer['run']> {
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    return super.run(name ? editedText(text, name as LuaScriptName, this.edits) : text, keys, args, name);
  }
}

/** A process that can be killed: from then on it sends nothing, and hears nothing. */
export interface Killed {
  isDead: boolean;
}

/** The faults of the network. */
export interface LossyNetwork {
  longestMs: number;
  /** The share of replies that are lost. */
  lost: number;
  /** The share of calls that are sent twice, and get the second reply. @default 0 */
  repeated?: number;
}

/** Returns the store of a process, whose calls and replies have a delay each. */
export function faultyStore(
  { clock, random, server }: { clock: VirtualClock; random: Random; server: PlantedServer },
  { longestMs, lost, repeated = 0 }: LossyNetwork,
  process: Killed,
): ScriptStore {
  const never = new Promise<never>(() => undefined);
  const delay = () =>
    new Promise<void>((resolve) => clock.setTimeout(() => resolve(), random.between(0, longestMs)));
  const link: StoreLink = async (_script, run) => {
    await delay();
    if (process.isDead) return never;
    if (repeated > 0 && random.chance(repeated)) run();
    const reply = run();
    await delay();
    return process.isDead || random.chance(lost) ? never : reply;
  };
  return new ScriptStore(clock, { server, link });
}
