#!lua flags=allow-oom
-- Starts one scheduled job now: scheduled -> pending or prioritized, at the back, or at the front for lifo.
-- Transition: promote
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- Returns pending (also where it was) | refused (it does not wait, or waits for other jobs to end) | missing. Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
local id = ARGV[1]
local status, priority, lifo, after, group = unpack(read(job .. id, 'status', 'priority', 'lifo', 'after', 'group'))
if not status then
  return 'missing'
end
if after then
  return 'refused'
end
if status == 'scheduled' and redis.call('ZREM', scheduled, id) == 1 then
  start_now(id, priority, group, lifo)
  return 'pending'
end
return status == 'pending' and 'pending' or 'refused'
