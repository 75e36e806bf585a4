#!lua flags=allow-oom
-- Pauses one group for the whole fleet: it accepts jobs and starts none. Other groups continue.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- ARGV[2] who pauses it, or ''
-- ARGV[3] why, or ''
-- ARGV[4] for how long in ms, or '' until a resume. A claim after it ends the pause.
-- Returns 1 if it was not paused before, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
--@include lib/group/place
local name = ARGV[1]
mark_state(name)
local paused = pause(groups .. 'state:' .. name, ARGV[2], ARGV[3], ARGV[4])
touch(name)
place_groups()
return paused
