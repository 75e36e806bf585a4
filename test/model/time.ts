// Lets time pass without waiting. Scripts take the time from the server's clock, which no test can set. So all instants
// of a queue are moved into the past, and TTLs are shortened.
import type { TestQueue } from '../support/queue/queue-state.js';

const SCRIPT = `
local passed = tonumber(ARGV[1])
for i = 1, tonumber(ARGV[2]) do -- sorted sets whose scores are instants
  local entries = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  for n = 1, #entries, 2 do
    if entries[n + 1] ~= 'inf' then
      redis.call('ZADD', KEYS[i], string.format('%.0f', tonumber(entries[n + 1]) - passed), entries[n])
    end
  end
end
for i = tonumber(ARGV[2]) + 1, #KEYS do -- hashes with fields that are instants
  local fields = redis.call('HGETALL', KEYS[i])
  for n = 1, #fields, 2 do
    local at = tonumber(fields[n + 1])
    if (string.find(fields[n], '_at_ms$') or string.find(fields[n], '_until_ms$')) and at and at > 0 then
      redis.call('HSET', KEYS[i], fields[n], string.format('%.0f', at - passed))
    end
  end
  local life = redis.call('PTTL', KEYS[i])
  if life >= 0 then
    redis.call('PEXPIRE', KEYS[i], life - passed) -- a life that is over deletes the key
  end
end
`;

/** Lets this many ms pass for the queue. */
export async function letTimePass(state: TestQueue, ms: number): Promise<void> {
  const { redis, keys } = state;
  const names = Object.keys(await state.snapshot()).map((name) => keys.jobPrefix.replace(/job:$/, name));
  const hashes = names.filter(
    (name) => name.startsWith(keys.jobPrefix) || name.startsWith(keys.schedulePrefix) || name === keys.settings,
  );
  const sets = [keys.scheduled, keys.claims, keys.dead, keys.uniqueExpiries, keys.scheduleDue, keys.scheduleOwners];
  await redis.eval(SCRIPT, sets.length + hashes.length, ...sets, ...hashes, ms, sets.length);
}
