#!lua flags=allow-oom
-- Ends a pause, and wakes a worker. The limits are set in the same step, so no job starts before them. What was spent of a
-- rate is forgotten then. A queue that is not paused keeps its limits.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..15] the limits to set, as in lua/limits/set.lua; none to leave them as they are
-- Returns 1 when the queue was paused, else 0. Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/pause
--@include lib/limits/set
--@include lib/core/wake
local was_paused = resume(settings)
if was_paused == 1 and ARGV[1] then
  redis.call('HDEL', settings, unpack(spent_fields))
  set_limits({ unpack(ARGV, 1, 15) })
end
return was_paused
