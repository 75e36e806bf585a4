#!lua flags=allow-oom
-- Checks a slice of unique keys for those that no job will free, and frees them if asked. The sweep frees keys held for a
-- time.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2..] unique keys
-- Returns, for each fault: the unique key, found. Repeated: checks again.
--@include lib/core/keys
local ended = { completed = true, failed = true, cancelled = true }
local reply = {}
for i = 2, #ARGV do
  local key = ARGV[i]
  local owner = redis.call('HGET', unique, key)
  if owner and not redis.call('ZSCORE', unique_expiries, key) then
    local status = redis.pcall('HGET', job .. owner, 'status')
    status = type(status) == 'string' and status
    if not status or ended[status] then
      reply[#reply + 1] = key
      reply[#reply + 1] = 'held by ' .. owner .. ', which ' .. (status and 'is ' .. status or 'does not exist')
      if ARGV[1] == '1' then
        redis.call('HDEL', unique, key)
      end
    end
  end
end
return reply
