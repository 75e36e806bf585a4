#!lua flags=allow-oom
-- Clears the limits that were set at run time, and a rest by a RateLimitedError. The limits of the workers apply again at
-- once. The spent rate stays spent, if there still is a rate.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/write
redis.call('HDEL', settings, 'limits_set', 'rests_until_ms', 'rest_ms')
hold_configured_limits()
