#!lua flags=allow-oom
-- Lets a limit lease nothing for a time, because a handler met the limit of the service. A rest that ends later stays.
-- Transition: none
-- KEYS[1] limit  hash
-- ARGV[1] how long, in ms
-- Returns nothing. Repeated: the rest begins again, and ends later by the time in between.
local limit, ms = KEYS[1], tonumber(ARGV[1])
--@include lib/core/clock
local rests_until, rest_ms = unpack(redis.call('HMGET', limit, 'rests_until_ms', 'rest_ms'))
rests_until, rest_ms = tonumber(rests_until or nil) or 0, tonumber(rest_ms or nil) or math.huge
if now + ms > rests_until or rests_until > now + rest_ms then
  redis.call('HSET', limit, 'rests_until_ms', string.format('%.0f', now + ms), 'rest_ms', string.format('%.0f', ms))
end
