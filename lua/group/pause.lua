#!lua flags=allow-oom
-- Pauses one group for the whole fleet: it takes jobs in and starts none. The other groups go on.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- Returns 1 when it was not paused before, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
local name = ARGV[1]
mark_state(name)
local paused = redis.call('HSETNX', groups .. 'state:' .. name, 'paused_at_ms', now_text)
touch(name)
place_groups()
return paused
