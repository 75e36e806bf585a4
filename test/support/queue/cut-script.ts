// Cuts a script after one of its writes, as an append-only file does that ends within a MULTI.
import type { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';

const READS = [
  'EXISTS GET HEXISTS HGET HGETALL HLEN HMGET HRANDFIELD HSTRLEN HVALS LINDEX LLEN LPOS LRANGE PTTL PUBLISH PUBSUB',
  'TIME TYPE XLEN XRANGE XREVRANGE XINFO ZCARD ZCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANK ZREVRANGE ZSCORE HSCAN HKEYS',
]
  .join(' ')
  .split(' ');

/** Counts the writes of the script, and raises an error behind the n-th. Without one it returns how many it made. */
const FRAME = `
local cut_after, writes, server = tonumber(table.remove(ARGV)), 0, redis
local reads = { ${READS.map((command) => `${command} = 1`).join(', ')} }
local function counted(send)
  return function(...)
    local reply = send(...)
    if not reads[string.upper((...))] then
      writes = writes + 1
      if writes == cut_after then
        error('cut')
      end
    end
    return reply
  end
end
local redis = setmetatable({ call = counted(server.call), pcall = counted(server.pcall) }, { __index = server })
local function script()
SCRIPT
end
script()
return writes
`;

/** Runs a call up to its n-th write. Returns whether it was cut there, and not complete before. */
export async function cutScript(
  redis: Redis,
  { script, keys, args }: ScriptCall<unknown>,
  n: number,
): Promise<boolean> {
  const text = luaScripts[script];
  const end = text.indexOf('\n') + 1;
  const framed = text.slice(0, end) + FRAME.replace('SCRIPT', () => text.slice(end));
  try {
    await redis.eval(framed, keys.length, ...keys, ...args, n);
    return false;
  } catch (error) {
    if (/\bcut\b/.test((error as Error).message)) {
      return true;
    }
    throw error;
  }
}
