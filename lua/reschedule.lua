#!lua flags=allow-oom
-- Gives a job that waits a new start: scheduled or pending -> scheduled, or pending when it is due now.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] id; ARGV[2] delay in ms, or ''; ARGV[3] run at, in ms, or ''
-- Returns scheduled | pending | refused (it is not waiting) | missing. Repeated: the same, a delay counted anew.
--@include lib/keys
--@include lib/clock
--@include lib/read
--@include lib/rank
--@include lib/places
--@include lib/take_out
local id = ARGV[1]
local status, priority = unpack(read(job .. id, 'status', 'priority'))
if not status then
  return 'missing'
end
if status ~= 'pending' and status ~= 'scheduled' or not take_out(id) then
  return 'refused'
end
local due = ARGV[2] ~= '' and now + tonumber(ARGV[2]) or tonumber(ARGV[3])
if due > now then
  to_later(id, due)
  return 'scheduled'
end
to_back(id, priority)
return 'pending'
