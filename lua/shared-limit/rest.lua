#!lua flags=allow-oom
-- Lets a limit lease nothing for a time, because a handler met the limit of the service. A rest that ends later stays.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] how long, in ms
-- Returns nothing. Repeated: the rest begins again, and ends later by the time in between.
local limit, permits, waiting, seen, rates = unpack(KEYS)
local ms = tonumber(ARGV[1])
--@include lib/core/clock
--@include lib/shared_limit/key
local rests_until, rest_ms = unpack(redis.call('HMGET', limit, 'rests_until_ms', 'rest_ms'))
rests_until, rest_ms = tonumber(rests_until or nil) or 0, tonumber(rest_ms or nil) or math.huge
if now + ms > rests_until or rests_until > now + rest_ms then
  redis.call('HSET', limit, 'rests_until_ms', string.format('%.0f', now + ms), 'rest_ms', string.format('%.0f', ms))
end
keep_key(ms)
