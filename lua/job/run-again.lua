#!lua flags=allow-oom
-- Runs a completed or cancelled job again: completed or cancelled -> pending. It keeps its id, payload and options, and
-- goes behind the others of its group. Deletes its result, keeps its attempt_log. The job holds its unique key again,
-- unless another job has it. Removing an id from a history is O(its length).
-- Transition: run-again
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] identifies this request
-- Returns pending | refused (it has another state; dead letters are redriven) | missing. Repeated: pending, and nothing
--   changes.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/unique/owner
--@include lib/enqueue/options
--@include lib/batch/end_member
--@include lib/place/start_over
--@include lib/signal/forget_work
local id, request = ARGV[1], ARGV[2]
local key = job .. id
local status, priority, unique_key, asked_by, batch, group = unpack(read(key, 'status', 'priority', 'unique',
  'run_again_request', 'batch', 'group'))
if not status then
  return 'missing'
end
if asked_by == request then
  return 'pending'
end
if status ~= 'completed' and status ~= 'cancelled' then
  return 'refused'
end
redis.call('LREM', status == 'completed' and completed or cancelled, 1, id)
redis.call('PERSIST', key)
redis.call('HDEL', key, 'result', 'completed_at_ms', 'cancelled_at_ms', 'cancel_requested_at_ms', 'cancel_request', 'superseded_by',
  'crashes', 'next_crash_is_last', 'errors', 'unhandled', 'unhandled_at_ms', 'expires_at_ms', 'progress', 'last_error',
  'last_error_at_ms', 'rank')
forget_work(key)
redis.call('HSET', key, 'run_again_request', request)
start_over(id, key, { priority = priority, unique = unique_key, batch = batch, group = group })
place_groups()
count('rerun_total', 1)
return 'pending'
