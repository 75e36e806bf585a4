#!lua flags=allow-oom
-- Takes away the limits that were set at run time, and a rest that a RateLimitedError asked for. Those that workers configure hold
-- again at once. What the rate has spent stays spent, where there still is one.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/write
redis.call('HDEL', settings, 'limits_set', 'rests_until_ms')
hold_configured_limits()
redis.call('ZADD', wake, '0', '1')
