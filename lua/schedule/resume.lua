#!lua flags=allow-oom
-- Ends the pause of a schedule. It continues with the next due time, or has ended if none is left.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] next due time in ms, +inf if none is left, or ''
-- ARGV[3] the version it was computed for, or ''
-- Returns resumed | missing | next, followed by now in ms, version, recurrence (JSON).
--   next: nothing was changed; call again with ARGV[2] and ARGV[3].
-- Repeated: resumed, and nothing changes.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/schedule/rest
local id, key = ARGV[1], schedule .. ARGV[1]
local version, recurrence, paused = unpack(redis.call('HMGET', key, 'version', 'recurrence', 'paused_at_ms'))
if not version then
  return { 'missing' }
end
if not paused then
  return { 'resumed' }
end
if ARGV[3] ~= version then
  return { 'next', now, version, recurrence }
end
redis.call('HDEL', key, 'paused_at_ms')
set_due(id, key, ARGV[2])
-- The worker finds no job, so it looks for the next due time.
--@include lib/core/wake
return { 'resumed' }
