#!lua flags=allow-oom
-- Starts one scheduled job now: scheduled -> pending or prioritized, at the back, or at the front for lifo.
-- Transition: promote
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- Returns pending (also where it was) | refused (it does not wait, or waits for other jobs to end or for a signal) | missing. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/signal/parked
local id = ARGV[1]
local status, priority, lifo, after, group, waits = unpack(read(job .. id, 'status', 'priority', 'lifo', 'after', 'group', 'waits'))
if not status then
  return 'missing'
end
if after or waits and is_parked(id) then
  return 'refused'
end
if status == 'scheduled' and redis.call('ZSCORE', scheduled, id) then
  start_now(id, priority, group, lifo)
  redis.call('ZREM', scheduled, id) -- last: where the line has another type, the job keeps its place
  return 'pending'
end
return status == 'pending' and 'pending' or 'refused'
