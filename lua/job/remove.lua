#!lua flags=allow-oom
-- Deletes one job with all its traces, unless it is claimed. Counts it in removed_total if it had not ended. Removing an
-- id from a list is O(its length).
-- Transition: remove
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] the required status of the job, or '' for any
-- Returns removed | posted (removed, and the outbox got something for another queue) | processing (refused: cancel it
--   first) | missing | missing-posted (the same, and the outbox has something) | changed (its status is not ARGV[2]).
-- Repeated: missing, or missing-posted. No trace of the job is left by which the first reply could be known.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/core/read
--@include lib/group/place
--@include lib/place/remove_waiting
--@include lib/batch/job_ended
--@include lib/kind/change_kind
--@include lib/ids/mark_of
--@include lib/retention/forget_job
local id = ARGV[1]
local key = job .. id
local status, unique_key, window, batch, dependents, group, has_stream, waits = unpack(read(key, 'status', 'unique', 'window',
  'batch', 'dependents', 'group', 'stream', 'waits'))
if not status then
  redis.call('ZREM', ended_ids, mark_of(id)) -- its record may be gone before its id is free
  return redis.call('HLEN', batch_outbox) > 0 and 'missing-posted' or 'missing' -- by this call, whose reply may be lost
end
if ARGV[2] ~= '' and status ~= ARGV[2] then
  return 'changed'
end
if status == 'processing' then
  return 'processing'
end
local ended = { completed = completed, cancelled = cancelled, failed = failed }
if not ended[status] then
  if not remove_waiting(id) then
    return 'processing'
  end
else
  redis.call('LREM', ended[status], 1, id)
  redis.call('ZREM', dead, id)
  change_kind(id)
  if group then
    end_hold(group, id)
  end
end
forget_job(id, unique_key, window, waits, has_stream)
local is_posted
if not ended[status] then
  is_posted = job_ended(id, batch, dependents, 'removed', '')
  count('removed_total', 1)
end
place_groups()
return is_posted and 'posted' or 'removed'
