#!lua flags=allow-oom
-- Deletes a slice of the old jobs of one place. Their age counts from their end (completed, failed, cancelled) or from
-- when they became claimable (pending, prioritized). For scheduled ones it counts from their enqueue. Their unique
-- keys are freed. removed_total counts those that had not ended.
-- Transition: clean
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] completed, failed, cancelled, pending, prioritized, grouped (waiting in groups) or scheduled
-- ARGV[2] the minimum age in ms
-- ARGV[3] the most jobs to read in this call
-- ARGV[4] how many to skip, as the last call returned
-- Returns how many were deleted, and how many the next call skips, or -1 when no more are old. Repeated: continues.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
local place, limit, passed = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local latest = now - tonumber(ARGV[2])
local deleted = 0
local waits = place == 'pending' or place == 'prioritized' or place == 'scheduled' or place == 'grouped'

--@include lib/batch/job_ended
--@include lib/group/place
--@include lib/retention/delete_old
--@include lib/group/clean
--@include lib/retention/trim_dead_letters
--@include lib/retention/clean_places

local cleaners = {
  grouped = clean_groups,
  completed = function() return clean_history(completed, 'completed_at_ms') end,
  cancelled = function() return clean_history(cancelled, 'cancelled_at_ms') end,
  failed = clean_dead_letters,
  pending = clean_line,
  prioritized = function() return clean_set(prioritized, 'ready_at_ms', 'enqueued_at_ms') end,
  scheduled = function() return clean_set(scheduled, 'enqueued_at_ms') end,
}
local passed_over = cleaners[place]()
place_groups()
if waits and deleted > 0 then
  count('removed_total', deleted)
end
return { deleted, passed_over }
