#!lua flags=allow-oom
-- The sweep's housekeeping, so that nothing outlives its use: ids of expired hashes at the ends of the histories,
-- unique keys whose time is over, dead letters past their age, workers not seen for long, schedules that were removed
-- from the code.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] the most entries to look at of each kind; ARGV[2] the age of a dead letter, in ms, or 0 for none
-- ARGV[3] how long a silent worker is remembered, in ms; ARGV[4] how long a schedule that no code declares is, in ms
-- Returns more: 1 when a kind used up its limit. Repeated: goes on.
--@include lib/keys
--@include lib/clock
local limit, dead_age = tonumber(ARGV[1]), tonumber(ARGV[2])
local worker_age, schedule_age = tonumber(ARGV[3]), tonumber(ARGV[4])
local more = 0

local function trim(list)
  for _ = 1, limit do
    local oldest = redis.call('LINDEX', list, -1)
    if not oldest or redis.call('EXISTS', job .. oldest) == 1 then
      return
    end
    redis.call('RPOP', list)
  end
  more = 1
end

local function end_windows()
  local over = redis.call('ZRANGE', windows, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, key in ipairs(over) do
    redis.call('ZREM', windows, key)
    local owner = redis.call('HGET', unique, key)
    -- A job that holds the key until it ends may have taken it over since; then the key is not the window's to free.
    if owner and redis.call('HGET', job .. owner, 'unique') ~= key then
      redis.call('HDEL', unique, key)
    end
  end
  more = #over == limit and 1 or more
end

local function age_out_dead_letters()
  local old = redis.call('ZRANGE', dead, '-inf', now - dead_age, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(old) do
    redis.call('ZREM', dead, id)
    redis.call('UNLINK', job .. id)
  end
  more = #old == limit and 1 or more
end

local function forget_undeclared()
  local old = redis.call('ZRANGE', declared, '-inf', now - schedule_age, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(old) do
    redis.call('ZREM', declared, id)
    redis.call('ZREM', ticks, id)
    redis.call('UNLINK', schedule .. id)
  end
  more = #old == limit and 1 or more
end

trim(completed)
trim(failed)
trim(cancelled)
end_windows()
if dead_age > 0 then
  age_out_dead_letters()
end
forget_undeclared()
redis.call('ZREMRANGEBYSCORE', workers, '-inf', now - worker_age)
return more
