#!lua flags=allow-oom
-- Gives a waiting job a new start: scheduled or pending -> scheduled, or pending if it is due now. Then it
-- goes to the back, or to the front for lifo.
-- Transition: reschedule
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] delay in ms, or ''
-- ARGV[3] run at, in ms, or ''
-- Returns scheduled | pending | refused (it is not waiting, or waits for other jobs to end or for a signal) | missing. If it would have
--   expired by then, nothing is changed: returns the ms until that start and the ms until it expires. Repeated: the
--   same, with a delay counted again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/place/remove_waiting
--@include lib/signal/parked
local id = ARGV[1]
local due = ARGV[2] ~= '' and now + tonumber(ARGV[2]) or tonumber(ARGV[3])
local status, priority, expires_at, after, group, lifo, waits = unpack(read(job .. id, 'status', 'priority', 'expires_at_ms',
  'after', 'group', 'lifo', 'waits'))
if not status then
  return 'missing'
end
if after or waits and is_parked(id) or status ~= 'pending' and status ~= 'scheduled' then
  return 'refused'
end
expires_at = tonumber(expires_at)
if expires_at and math.max(due, now) >= expires_at then
  return { due - now, expires_at - now }
end
--@include lib/place/check_lines
if not remove_waiting(id) then
  return 'refused'
end
if due > now then
  to_later(id, due)
  place_groups()
  return 'scheduled'
end
start_now(id, priority, group, lifo)
return 'pending'
