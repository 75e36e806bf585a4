#!lua flags=allow-oom
-- Cancels one job. A pending or scheduled job is cancelled at once. A processing job is flagged, and its worker nudged.
-- Removing one id from pending is O(length of pending).
-- Transition: cancel
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] id
-- ARGV[12] identifies this request for a caller with listeners; else ''
-- ARGV[13] the required status of the job, or '' for any
-- Returns cancelled | posted (cancelled, and the outbox has something for another queue) | requested | finished | missing |
--   changed (its status is not ARGV[13]). If this request cancelled it: that word and the job's hash as a flat list of field, value.
--   Repeated: changes nothing, and returns the same while the outbox has something, with the hash while it lives.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/settle/finish
--@include lib/place/remove_waiting
--@include lib/newest/hand_back
--@include lib/signal/parked
local nudge_ms = 10000 -- a worker that does not read it by then learns of it from its heartbeat
local id, request, expected = ARGV[first], ARGV[first + 1], ARGV[first + 2]
local status, cancelled_by, token, worker, batch, dependents, waits = unpack(read(job .. id, 'status', 'cancel_request',
  'claim_token', 'worker', 'batch', 'dependents', 'waits'))
if not status then
  return 'missing'
end

local function answer(outcome, is_mine)
  return is_mine and { outcome, redis.call('HGETALL', job .. id) } or outcome
end

if status == 'cancelled' then
  local is_posted = (batch or dependents) and redis.call('HLEN', batch_outbox) > 0 -- by this request, whose reply may be lost
  return answer(is_posted and 'posted' or 'cancelled', cancelled_by == request)
end
if status == 'completed' or status == 'failed' then
  return 'finished'
end
if expected ~= '' and status ~= expected then
  return 'changed'
end
if status ~= 'processing' and remove_waiting(id) then
  if request ~= '' then
    redis.call('HSET', job .. id, 'cancel_request', request)
  end
  hand_back(id)
  leave_wait(id, waits)
  local is_posted = end_cancelled(id)
  place_groups()
  return answer(is_posted and 'posted' or 'cancelled', request ~= '')
end
if expected ~= '' and expected ~= 'processing' then
  return 'changed' -- a client of the pattern is taking it
end
-- Claimed, or taken by a client of the pattern that has not written its claim yet.
redis.call('HSETNX', job .. id, 'cancel_requested_at_ms', now_text)
if worker and token and token ~= '' then
  redis.call('ZADD', nudge .. worker, 1, 'cancel') -- after the marker by which a worker ends its own wait
  redis.call('PEXPIRE', nudge .. worker, nudge_ms)
--@cluster lib/waiters/tell_cancel
end
return 'requested'
