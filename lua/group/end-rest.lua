#!lua flags=allow-oom
-- Ends the rest of a group that waits for a permit of its key, because one has come. A rest by a handler stays.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- Returns nothing. Repeated: one claim of the group may find no permit.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
--@include lib/group/keyed
local name = ARGV[1]
local rests_until = tonumber(redis.call('HGET', groups .. 'state:' .. name, 'rests_until_ms') or nil) or 0
if rests_until > now and ends_with_permit(name, rests_until) then
  redis.call('HDEL', groups .. 'state:' .. name, 'rests_until_ms', 'rest_ms')
  redis.call('HDEL', settings, 'timer_worker') -- the worker that waited for its end claims now, and then waits no longer
  touch(name)
  place_groups()
end
note_keyed(name, now)
