#!lua flags=allow-oom
-- Checks a slice of unique keys for those that no job will free, and frees them if asked. The sweep frees keys held for a
-- time. Such a time may be longer than the clock of now can have made it. Then the key is free, and its time is deleted.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2..] unique keys
-- Returns, for each fault: the unique key, kind (unique | clock), found, expected; for clock, found and the latest in ms.
--   Repeated: checks again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/unique/longest_window
local ended = { completed = true, failed = true, cancelled = true }
local reply = {}
local function report(key, kind, found, expected)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = key, kind, found, expected
end

-- Checks the time of a key. Without it, a job holds the key only until its own end.
local function look_at_window(key, owner, held_until)
  local own_key, window, window_ms = unpack(redis.call('HMGET', job .. owner, 'unique', 'window', 'window_ms'))
  local latest = now + (window == key and tonumber(window_ms or nil) or longest_window())
  if tonumber(held_until) <= latest then
    return
  end
  report(unique_expiries .. ' ' .. key, 'clock', held_until, string.format('%.0f', latest))
  if ARGV[1] == '1' then
    redis.call('ZREM', unique_expiries, key)
    if own_key ~= key then
      redis.call('HDEL', unique, key)
    end
  end
end

local function look_at_owner(key, owner)
  local status = redis.pcall('HGET', job .. owner, 'status')
  status = type(status) == 'string' and status
  if not status or ended[status] then
    report(key, 'unique', 'held by ' .. owner .. ', which ' .. (status and 'is ' .. status or 'does not exist'),
      'held by an unfinished job')
    if ARGV[1] == '1' then
      redis.call('HDEL', unique, key)
    end
  end
end

for i = 2, #ARGV do
  local key = ARGV[i]
  local owner = redis.call('HGET', unique, key)
  local held_until = owner and redis.call('ZSCORE', unique_expiries, key)
  if held_until then
    look_at_window(key, owner, held_until)
  elseif owner then
    look_at_owner(key, owner)
  end
end
return reply
