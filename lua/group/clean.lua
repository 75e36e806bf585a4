#!lua flags=allow-oom
-- Deletes a slice of the old jobs that wait in one group; removed_total counts them. Scheduled jobs are not in its
-- line.
-- Transition: clean
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- ARGV[2] the minimum age in ms
-- ARGV[3] the most jobs to read in this call
-- Returns how many were deleted, and 1 when more may be old. Repeated: the next slice.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
local latest, limit = now - tonumber(ARGV[2]), tonumber(ARGV[3])
local deleted, waits = 0, true
--@include lib/batch/job_ended
--@include lib/retention/delete_old
--@include lib/group/clean
local looked = clean_group(ARGV[1], limit)
place_groups()
if deleted > 0 then
  redis.pcall('HINCRBY', stats, 'removed_total', deleted) -- the doctor reports a counter that is not a number
end
return { deleted, looked == limit and deleted > 0 and 1 or 0 }
