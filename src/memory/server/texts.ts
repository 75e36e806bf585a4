// The server in memory as clients see it: texts instead of bytes, and replies as ioredis decodes them.
import { luaScripts, clusterScripts } from '../../queue/lua.generated.js';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { auditedScript, frameArguments } from '../../queue/transport/audited-script.js';
import type { ScriptCall } from '../../queue/transport/script-runner.js';
import { toInteger } from '../lua/numbers.js';
import { LuaError, LuaTable, shown, toBytes, toText, type LuaValue } from '../lua/values.js';
import type { ScriptServer } from './script-server.js';

/** An error reply, by the name that ioredis gives it. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/**
 * Runs a script. Its transitions are written down if the call is marked for that.
 *
 * @param isSharded whether the text for a Cluster runs
 * @throws ReplyError
 */
export function evaluate(server: ScriptServer, call: ScriptCall<unknown>, isSharded: boolean): unknown {
  const { script, audit } = call;
  const keys = call.keys.map(toBytes);
  const args = call.args.map((arg) => (typeof arg === 'string' ? toBytes(arg) : String(arg)));
  if (audit) {
    keys.push(...audit.keys.map(toBytes));
    args.push(...frameArguments(audit));
  }
  const text = audit ? auditedScript(script, isSharded).text : (isSharded ? clusterScripts : luaScripts)[script];
  return answered(() => server.run(text, keys, args, script));
}

/** Runs one command. @throws ReplyError */
export function command(server: ScriptServer, name: string, ...args: readonly (string | number)[]): unknown {
  return answered(() =>
    server.send(
      name,
      args.map((arg) => toBytes(String(arg))),
    ),
  );
}

function answered(run: () => LuaValue): unknown {
  try {
    return replyOf(run());
  } catch (error) {
    throw error instanceof LuaError ? new ReplyError(textOfError(error.value)) : error;
  }
}

function textOfError(value: LuaValue): string {
  return toText(shown(value instanceof LuaTable ? value.get('err') : value));
}

/** Returns a value of Lua as the reply that a client gets. @throws ReplyError for an error that a script returns */
function replyOf(value: LuaValue): unknown {
  if (typeof value === 'string') return toText(value);
  if (typeof value === 'number') return toInteger(value);
  if (value === true) return 1;
  if (!(value instanceof LuaTable)) return null;
  if (value.fields !== undefined) {
    const [err, ok] = [value.get('err'), value.get('ok')];
    if (err !== undefined) throw new ReplyError(toText(shown(err)));
    if (ok !== undefined) return toText(shown(ok));
  }
  const reply: unknown[] = [];
  for (const item of value.items) {
    if (item === undefined) break;
    reply.push(replyOf(item));
  }
  return reply;
}

/** Lets a command of a client run, such as late, or never. */
type Send = (name: string, run: () => unknown) => Promise<unknown>;

/** The replies that ioredis decodes further. */
const DECODED: Readonly<Record<string, (reply: unknown) => unknown>> = {
  hgetall: (reply) => {
    const flat = reply as string[];
    return Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1]!]] : [])));
  },
};

/**
 * Returns what calls without a script and the doctor use of a client: a method for each command. The cast is needed,
 * because the type of ioredis has every command, and a proxy declares none.
 */
export function clientOf(server: ScriptServer, send: Send): RedisClient {
  const run = async (name: string, args: readonly (string | number)[]): Promise<unknown> => {
    const reply = await send(name, () => command(server, name, ...args));
    return DECODED[name]?.(reply) ?? reply;
  };
  const client: Record<string, unknown> = {
    isCluster: false,
    eval: (text: string, count: number, ...rest: (string | number)[]) => {
      const texts = rest.map((each) => toBytes(String(each)));
      return send('eval', () => answered(() => server.run(text, texts.slice(0, count), texts.slice(count))));
    },
  };
  return new Proxy(client, {
    get: (known, name) => {
      if (typeof name !== 'string' || name === 'then' || name in known) return known[name as string];
      return (...args: (string | number)[]) => run(name, args);
    },
  }) as unknown as RedisClient; // the proxy makes each command when it is asked for
}
