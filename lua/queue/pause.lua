#!lua flags=allow-oom
-- Pauses the queue for the whole fleet: it takes jobs in and hands none out.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- Returns 1 when it was not paused before, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
return redis.call('HSETNX', settings, 'paused_at_ms', now)
