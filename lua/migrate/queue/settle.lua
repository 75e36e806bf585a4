#!lua flags=allow-oom
-- Ends what a mover kept of a batch or a schedule. Or it lets the new place check a batch or a waiting job.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] kind     schedule and batch: forget it in transit, at the old place; batch-back: give it back there; watched: forget it there;
--   watch-batch and watch-job: check it, at the new place
-- ARGV[2] id       with b or j before it for watched
-- ARGV[3] fence    of this mover, at the old place
-- Returns 1, or -1 if another mover has begun.
-- Repeated: the same.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/batch/by_age
--@include lib/move/transit
local kind, id = ARGV[1], ARGV[2]
if kind == 'watch-batch' then
  local created, ended = unpack(redis.call('HMGET', batch_record .. id, 'created_at_ms', 'ended_at_ms'))
  if created and not ended then
    redis.call('ZADD', batches, 0, id)
  end
  return 1
elseif kind == 'watch-job' then
  if redis.call('HEXISTS', job .. id, 'after') == 1 then
    redis.call('ZADD', awaiting, 'NX', now_text, id)
  end
  return 1
elseif is_overtaken(ARGV[3]) then
  return -1
elseif kind == 'watched' then
  redis.call('HDEL', moving_watch, id)
elseif kind == 'schedule' then
  redis.call('HDEL', moving_schedules, id)
elseif redis.call('HDEL', moving_batches, id) == 1 then
  for _, part in ipairs(batch_parts) do
    if kind == 'batch' then
      redis.call('UNLINK', moving_batch .. id .. part)
    elseif redis.call('EXISTS', moving_batch .. id .. part) == 1 then
      redis.call('RENAME', moving_batch .. id .. part, batch_record .. id .. part)
    end
  end
  if kind == 'batch-back' then
    redis.call('HDEL', moving_watch, 'b' .. id)
    redis.call('ZADD', batches, now_text, id)
    redis.pcall('ZADD', batches_by_age, 'NX', redis.call('HGET', batch_record .. id, 'created_at_ms') or now_text, id)
  end
end
return 1
