#!lua flags=allow-oom
-- Ends the pause of a limit.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- Returns 1 if it was paused, else 0, then the queues to wake. Repeated: 0.
local limit, permits, waiting, seen, rates = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/state
redis.call('HDEL', limit, 'paused_at_ms', 'paused_until_ms', 'pause_reason', 'paused_by')
return { paused and 1 or 0, unpack(call_first(most_woken)) }
