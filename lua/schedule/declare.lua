#!lua flags=allow-oom
-- Declares schedules for a worker's code, which keeps them active. Or ends the declaration, so that another version of
-- the code need not wait.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] worker
-- ARGV[2] '1' it declares, '0' it has stopped
-- ARGV[3] how long a declaration lasts, in ms
-- ARGV[4..] for each schedule: id, version
-- Returns for each: declared | conflict (another version's definition is in force) | upsert (it must be created or
--   changed).
-- Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/schedule/rest
local worker, declares, declaration_ms = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3])

local function declare(id, version, key)
  local current, source, declared_by, declared_until = unpack(redis.call('HMGET', key,
    'version', 'source', 'declared_by', 'declared_until_ms'))
  local by_another = declared_by ~= worker and is_declaration(declared_until, declaration_ms)
  if source ~= 'code' or current ~= version and not by_another then
    return 'upsert'
  end
  redis.call('ZADD', schedule_owners, now, id)
  wake_schedule(id, key)
  if current ~= version then
    return 'conflict'
  end
  redis.call('HSET', key, 'declared_by', worker, 'declared_until_ms', string.format('%d', now + declaration_ms))
  return 'declared'
end

local replies = {}
for i = 4, #ARGV, 2 do
  local id, key = ARGV[i], schedule .. ARGV[i]
  if declares then
    replies[#replies + 1] = declare(id, ARGV[i + 1], key)
  else
    if redis.call('HGET', key, 'declared_by') == worker then
      redis.call('HSET', key, 'declared_until_ms', 0)
    end
    replies[#replies + 1] = 'declared'
  end
end
return replies
