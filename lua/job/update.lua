#!lua
-- Replaces the payload of a waiting job. Its checkpoint, steps and signals are deleted, because they belong to the old payload. A job
-- that is parked for a signal starts over: scheduled -> pending or prioritized, at the back of its line.
-- Transition: update
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] payload (JSON)
-- ARGV[3] the required name of the job, or '' for any
-- Returns updated | refused (it does not wait, or has another name) | missing. Repeated: the same, while it waits.
--@include lib/core/keys
--@include lib/core/read
--@include lib/signal/parked
--@include lib/signal/forget_work
local id, payload, expected_name = ARGV[1], ARGV[2], ARGV[3]
local status, name, waits = unpack(read(job .. id, 'status', 'name', 'waits'))
if not status then
  return 'missing'
end
if status ~= 'pending' and status ~= 'scheduled' or expected_name ~= '' and name ~= expected_name then
  return 'refused'
end
-- The payload comes last. If the step breaks off before, the job is still parked, and the caller updates it once more.
if waits and is_parked(id) then
  -- Included here, so that a job without a wait does not pay for it.
--@include lib/core/clock
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
  local priority, group, lifo = unpack(read(job .. id, 'priority', 'group', 'lifo'))
  start_now(id, priority, group, lifo)
  redis.call('ZREM', scheduled, id)
  leave_wait(id, waits)
end
redis.call('HSET', job .. id, 'payload', payload)
forget_work(job .. id)
return 'updated'
