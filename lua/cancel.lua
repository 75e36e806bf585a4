#!lua flags=allow-oom
-- Cancels one job: pending or scheduled -> cancelled at once; a processing one is flagged, and its worker told at the
-- next heartbeat. Taking one id from pending is O(length of pending).
-- KEYS: the standard keys, see lib/keys
-- ARGV[1..8]: retention and limits, see lib/retention
-- ARGV[9] id; ARGV[10] 1: whoever calls has listeners to tell
-- Returns cancelled | requested | finished | missing; where this call cancelled it and there is somebody to tell: the
--   job's hash as a flat list of field, value. Repeated: changes nothing, and there is nothing new to tell.
--@include lib/keys
--@include lib/retention
--@include lib/clock
--@include lib/read
--@include lib/events
--@include lib/history
--@include lib/ends
--@include lib/take_out
local id, tells = ARGV[first], ARGV[first + 1] == '1'
local status = read(job .. id, 'status')[1]
if not status then
  return 'missing'
end
if status == 'cancelled' then
  return 'cancelled'
end
if status == 'completed' or status == 'failed' then
  return 'finished'
end
if status ~= 'processing' and take_out(id) then
  end_cancelled(id)
  return tells and redis.call('HGETALL', job .. id) or 'cancelled'
end
-- Claimed, or taken by a client of the pattern that has not written its claim yet.
redis.call('HSETNX', job .. id, 'cancel_requested_at_ms', now)
return 'requested'
