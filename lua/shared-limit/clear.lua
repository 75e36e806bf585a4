#!lua flags=allow-oom
-- Clears the values of a limit that were set at run time, and a rest. Those of the apps apply again at once.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- Returns the queues to wake. Repeated: the same.
local limit, permits, waiting, seen, rates = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/key
--@include lib/shared_limit/state
--@include lib/shared_limit/write
redis.call('HDEL', limit, 'set', 'rests_until_ms', 'rest_ms')
write_configured()
keep_key(60000)
return call_first(most_woken)
