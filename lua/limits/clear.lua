#!lua flags=allow-oom
-- Takes away the limits of the queue, and a rest that a RateLimitedError asked for. Limits that workers configure come back
-- when one of them announces itself next.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/write
delete_limits()
redis.call('HDEL', settings, 'rests_until_ms')
redis.call('ZADD', wake, '0', '1')
