// node scripts/redis/with-redis.mjs [--quiet] [--or-memory] COMMAND ARGS…: runs a command with REDIS_URL set. Uses the Redis of REDIS_URL, or
// starts one and stops it afterwards. A server that it started also sets REDIS_THROWAWAY=yes, because no job outlives
// it.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { startInDocker } from './redis-in-docker.mjs';
import { ensureRedis } from './redis-server.mjs';

const given = process.argv.slice(2);
// The command itself says which Redis it uses.
const quiet = given[0] === '--quiet';
if (quiet) given.shift();
// Also takes REDIS_URL=memory. Where nothing names a Redis and none is found: one in Docker, else memory.
const orMemory = given[0] === '--or-memory';
if (orMemory) given.shift();
const [command, ...args] = given;
if (command === undefined) {
  console.error('usage: node scripts/redis/with-redis.mjs [--quiet] [--or-memory] COMMAND ARGS…');
  process.exit(2);
}

let child;
let interrupted;
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = signal;
    interruption.abort();
    // In a terminal Ctrl-C reaches the whole group, the child too: a second one would look like impatience.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child?.kill(signal);
  });
}

const redis = await findRedis();
// A signal during the start of Redis has no child to go to.
const code = interrupted === undefined ? await runChild() : 128 + constants.signals[interrupted];
await redis.stop();
process.exit(code);

async function findRedis() {
  const memory = { url: 'memory', source: 'no Redis', stop: () => Promise.resolve() };
  const { REDIS_URL, REDIS_SERVER_BIN } = process.env;
  if (orMemory && REDIS_URL === 'memory') return memory;
  try {
    return await ensureRedis({ quiet });
  } catch (error) {
    console.error(error.message);
    // A Redis that the user names is never replaced by another.
    if (!orMemory || REDIS_URL || REDIS_SERVER_BIN) process.exit(1);
    return (await startInDocker(interruption.signal)) ?? memory;
  }
}

function runChild() {
  return new Promise((resolve) => {
    const throwaway = redis.source === 'REDIS_URL' || redis.url === 'memory' ? {} : { REDIS_THROWAWAY: 'yes' };
    const env = { ...process.env, ...throwaway, REDIS_URL: redis.url, REDIS_SOURCE: redis.source };
    child = spawn(command, args, { stdio: 'inherit', env });
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(127);
    });
    child.once('exit', (status, signal) => resolve(status ?? 128 + constants.signals[signal]));
  });
}
