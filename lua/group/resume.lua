#!lua flags=allow-oom
-- Ends the pause of a group, and wakes a worker if it may run now.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- Returns 1 when the group was paused, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
--@include lib/group/place
local name = ARGV[1]
local resumed = resume(groups .. 'state:' .. name)
touch(name)
place_groups()
return resumed
