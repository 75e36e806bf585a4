#!lua flags=allow-oom
-- Gives a pause of the queue a later end. The caller names the end that it knows, so a repetition changes nothing.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the end of the pause that the caller knows, in ms
-- ARGV[2] how long the pause lasts from now on, in ms
-- Returns 1 if the pause has a new end. Else 0: it is over, has no end or another one, or would end earlier. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
local known, ends = tonumber(ARGV[1]), now + tonumber(ARGV[2])

if tonumber(redis.call('HGET', settings, 'paused_until_ms') or nil) ~= known or known <= now or ends < known then
  return 0
end
redis.call('HSET', settings, 'paused_until_ms', string.format('%d', ends))
return 1
