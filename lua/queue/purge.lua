#!lua flags=allow-oom
-- Deletes a slice of all jobs of the queue, in every state. The last slice also deletes unique keys, the wake marker and
-- the sweep's memory. Counters, fences, a pause and the schedules stay. removed_total counts the waiting and running ids,
-- even without a hash. The announcements of workers are deleted too if no worker was seen recently. Otherwise they get an
-- expiry, because a job of that worker's next claim may outlive it. The worker's next announcement removes the expiry.
-- Transition: purge
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most jobs to delete in this call
-- ARGV[2] how long ago a worker may have been seen and still counts, in ms
-- ARGV[3] how long a silent worker is remembered, in ms
-- ARGV[4] the visibility timeout in ms, unless workers announced a longer one; twice that after the last possible claim
--   it has been reclaimed
-- Returns how many were deleted, and 1 if more may be left. Repeated: the next slice.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/retention/announced_queue_limits
local limit, seen = tonumber(ARGV[1]), tonumber(ARGV[2])
local visibility = math.max(announced.visibility or 0, tonumber(ARGV[4]))
local stay = string.format('%d', tonumber(ARGV[3]) + 2 * visibility)
local looked, deleted = 0, 0

--@include lib/group/place
--@include lib/purge/empty_places
--@include lib/purge/empty_groups
--@include lib/purge/forget_queue

empty_list(pending)
empty_list(processing)
empty_set(prioritized)
empty_set(scheduled)
empty_set(claims)
empty_groups()
local removed = looked -- these had not ended
empty_list(completed)
empty_list(failed)
empty_list(cancelled)
empty_set(kept_results)
empty_set(dead)
end_stray_holds()
empty_streams()
place_groups(true)
if removed > 0 then
  count('removed_total', removed)
end
if looked < limit then
  forget_queue(seen, stay)
end
return { deleted, looked < limit and redis.call('EXISTS', groups .. 'depths') == 0 and 0 or 1 }
