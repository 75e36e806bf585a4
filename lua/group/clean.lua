#!lua flags=allow-oom
-- Deletes a slice of the old jobs that wait in one group; removed_total counts them. Scheduled jobs are not in its
-- line.
-- Transition: clean
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] name
-- ARGV[2] the minimum age in ms
-- ARGV[3] the most jobs to read in this call
-- ARGV[4] how many to skip, as the last call returned
-- Returns how many were deleted, and how many the next call skips, or -1 at the end of the line. Repeated: continues.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/group/place
local latest, limit, passed = now - tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local deleted, waits = 0, true
--@include lib/batch/job_ended
--@include lib/retention/delete_old
--@include lib/group/clean
local looked = clean_group(ARGV[1], passed, limit)
place_groups()
if deleted > 0 then
  count('removed_total', deleted)
end
return { deleted, looked == limit and passed + looked - deleted or -1 }
