#!lua flags=allow-oom
-- Maintains the jobs of clients of the Redis pattern. Reclaims their dead claims from processing, and moves their
-- failures into dead. Their clocks are not the server's. So a foreign claim counts from when a sweep first sees its
-- (attempts, token, id). A cursor moves through each of the two lists, one slice a run.
-- Transition: adopt-foreign
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] the most claims to read in this call
-- ARGV[12] the visibility timeout of foreign claims in ms, unless a worker announced it
-- ARGV[13] the interval in ms at which failures are adopted, see lib/retention/once_per_interval
-- Returns how many dead letters were adopted, how many claims a sweep of such a client reclaimed, 1 if such clients
--   worked here within ten minutes, then the reclaimed claims as in lua/sweep/reclaim.
-- Repeated: reads the next slice.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/attempt_log
--@include lib/settle/attempt_limits
--@include lib/settle/finish
--@include lib/foreign/name_in_payload
--@include lib/limits/refund
--@include lib/settle/crash
--@include lib/settle/adopt_failure
--@include lib/retention/once_per_interval
local limit, visibility = tonumber(ARGV[first]), announced.foreign_visibility or tonumber(ARGV[first + 1])

--@include lib/foreign/claims

local function adopt_failures()
  local adopted = 0
  for _, id in ipairs(slice_of(failed, 'failed_cursor')) do
    adopted = adopted + adopt_failure(id)
  end
  trim_dead_letters(100)
  return adopted
end

note_claims()
local replies = { 0, 0, 0 }
reclaim_claims(replies)
replies[1] = once_per_interval('adopted_at_ms', tonumber(ARGV[first + 2])) and adopt_failures() or 0
place_groups()
local seen_at = tonumber(redis.call('HGET', sweep, 'foreign_seen_at_ms') or nil)
replies[3] = seen_at and math.abs(now - seen_at) < 600000 and 1 or 0
return replies
