#!lua flags=allow-oom
-- Declares schedules for a worker's code, which keeps them active. Or ends the declaration, so that another version of
-- the code need not wait. Without another live worker of the queue, the schedules rest at once: nobody would run their jobs.
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

-- Returns whether no other worker of the queue lives. Another one may declare the schedules too.
local function is_last()
  for _, other in ipairs(redis.call('ZRANGE', workers, now - declaration_ms, '+inf', 'BYSCORE', 'LIMIT', 0, 2)) do
    if other ~= worker then
      return false
    end
  end
  return true
end

local rests, replies = not declares and is_last(), {}
for i = 4, #ARGV, 2 do
  local id, key = ARGV[i], schedule .. ARGV[i]
  if declares then
    replies[#replies + 1] = declare(id, ARGV[i + 1], key)
  else
    local declared_by, declared_until, source = unpack(redis.call('HMGET', key, 'declared_by', 'declared_until_ms', 'source'))
    local by_another = declared_by ~= worker and is_declaration(declared_until, declaration_ms)
    if declared_by == worker then
      redis.call('HSET', key, 'declared_until_ms', 0)
    end
    local due = rests and source == 'code' and not by_another and tonumber(redis.call('ZSCORE', schedule_due, id) or nil)
    if due and due < math.huge then
      rest(id, key, due)
    end
    replies[#replies + 1] = 'declared'
  end
end
return replies
