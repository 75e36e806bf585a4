#!lua flags=allow-oom
-- Pauses a schedule for the whole fleet, until it is resumed, also across deploys. Its ticks in between are not made up.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- Returns paused | missing. Repeated: paused, since the first time.
--@include lib/core/keys
--@include lib/core/clock
local id, key = ARGV[1], schedule .. ARGV[1]
if redis.call('EXISTS', key) == 0 then
  return 'missing'
end
redis.call('HSETNX', key, 'paused_at_ms', now_text)
redis.call('HDEL', key, 'rested_due_ms')
redis.call('ZADD', schedule_due, '+inf', id)
return 'paused'
