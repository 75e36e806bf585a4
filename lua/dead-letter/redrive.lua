#!lua flags=allow-oom
-- Redrives dead letters: failed -> pending, attempts reset; last_error and attempt_log are kept. The job holds its unique
-- key again, unless another job has it.
-- Transition: redrive
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] payload (JSON) that replaces theirs, or ''
-- ARGV[2] '1' to isolate them: a worker runs each one alone, and its next crash is its last. A job that died of crashes
--   is always isolated
-- ARGV[3..] ids
-- Returns how many were redriven. Other ids are skipped, and dead letters that were redriven as a known new job.
-- Repeated: 0.
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
--@include lib/retention/delete_dead_letter
--@include lib/dead_letter/new_job_of
--@include lib/signal/forget_waits
--@include lib/signal/forget_work
local payload, is_isolated = ARGV[1], ARGV[2] == '1'
local redriven = 0
for i = 3, #ARGV do
  local id = ARGV[i]
  local key = job .. id
  local priority, unique_key, batch, group, crashes, kind, waits = unpack(read(key, 'priority', 'unique', 'batch', 'group',
    'crashes', 'error_kind', 'waits'))
  local was_dead = not new_job_of(id) and redis.call('ZREM', dead, id) == 1
  if was_dead and (redis.call('EXISTS', key) == 0 or is_reused(id)) then
    end_hold_of(id)
  elseif was_dead then
    redis.call('LREM', failed, 1, id)
    change_kind(id)
    redis.call('HDEL', key, 'crashes', 'next_crash_is_last', 'errors', 'unhandled', 'unhandled_at_ms', 'failed_at_ms',
      'expires_at_ms', 'cancel_requested_at_ms', 'superseded_by')
    if is_isolated or kind == '@crash' then
      redis.call('HSET', key, 'crashes', crashes or 0, 'next_crash_is_last', '1')
    end
    if payload ~= '' then
      redis.call('HSET', key, 'payload', payload)
      forget_work(key)
    elseif waits then
      forget_waits(key)
    end
    start_over(id, key, { priority = priority, unique = unique_key, batch = batch, group = group })
    redriven = redriven + 1
  end
end
place_groups()
if redriven > 0 then
  count('redriven_total', redriven)
end
return redriven
