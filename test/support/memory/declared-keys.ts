// A server in memory that refuses a script which touches a key of another slot. Such a key is not declared, and is of another
// queue than the first one. Servers such as Dragonfly lock the declared keys, or all of their hash tag.
import { clusterScripts, luaScripts, type LuaScriptName } from '#queue/lua.generated.js';
import type { LuaValue } from '#memory/lua/values.js';
import { ScriptServer } from '#memory/server/script-server.js';

/** The commands without a key. */
const WITHOUT_KEYS = new Set(['TIME', 'PUBLISH', 'SPUBLISH', 'PUBSUB']);

/** The commands with keys only. The key of each other command is its first argument. */
const OF_KEYS = new Set(['EXISTS', 'UNLINK', 'DEL', 'RENAME']);

/** What the keys of tests in the texts of scripts begin with, see redis/clocked-redis.ts. */
const OF_TESTS = 'test-';

export class DeclaredKeysServer extends ScriptServer {
  /** The texts of the scripts that have run, each checked. */
  readonly checked = new Set<string>();
  private declared: readonly string[] | undefined;

  constructor(...args: ConstructorParameters<typeof ScriptServer>) {
    super(...args);
    const commands = this.commands as Record<string, (...args: string[]) => LuaValue>;
    for (const [name, run] of Object.entries(commands)) {
      if (WITHOUT_KEYS.has(name)) continue;
      commands[name] = (...given) => {
        this.check(name, OF_KEYS.has(name) ? given : given.slice(0, 1));
        return run(...given);
      };
    }
  }

  override run(text: string, keys: string[], args: string[], name?: string): LuaValue {
    this.declared = keys;
    this.checked.add(text);
    try {
      return super.run(text, keys, args, name);
    } finally {
      this.declared = undefined;
    }
  }

  private check(command: string, keys: readonly string[]): void {
    const { declared } = this;
    if (!declared) return;
    const queue = queueOf(declared[0]);
    const isOwn = (key: string) => declared.includes(key) || (queue !== undefined && key.startsWith(queue));
    const foreign = keys.find((key) => !isOwn(key) && !key.startsWith(OF_TESTS));
    if (foreign !== undefined) {
      throw new Error(`${command} of an undeclared key: ${foreign}. KEYS: ${declared.slice(0, 5).join(' ')}`);
    }
  }
}

/** The scripts that no spec runs in memory as they are, and why. */
export const NOT_IN_MEMORY: Partial<Record<LuaScriptName, string>> = {
  auditFrame: 'it is a frame around other scripts, each of which is checked inside of it',
  queueCheckPermissions: 'the server in memory has no users',
};

/** Returns the script whose spec this is, if there is one: that of `lua/job/set-priority.lua` is `jobSetPriority`. */
export function scriptOf(spec: string): LuaScriptName | undefined {
  const [, path = ''] = /\/test\/lua\/(.*)\.spec\.ts$/.exec(spec) ?? [];
  const name = path.replace(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase());
  return name in luaScripts ? (name as LuaScriptName) : undefined;
}

/** Returns whether one of these texts has a script in it. The audit trail and the clock of a test put a frame around it. */
export function hasRun(name: LuaScriptName, texts: Iterable<string>): boolean {
  const bodies = [luaScripts[name], clusterScripts[name]].map((text) => text.slice(text.indexOf('\n') + 1));
  return [...texts].some((text) => bodies.some((body) => text.includes(body)));
}

/** Returns the start of all keys of the queue of a key. With a hash tag it ends with that. */
function queueOf(key: string | undefined): string | undefined {
  return /^[^:]*:[^:]*:/.exec(key ?? '')?.[0];
}
