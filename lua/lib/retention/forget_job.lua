-- forget_job(id, unique_key, window, parked_for, has_stream): deletes the hash of a job, and what it holds elsewhere.
--   Its places are left to the caller. The fields are those of its hash: unique, window, waits and stream.
-- Needs: lib/core/keys.
--@include lib/ids/mark_of
--@include lib/unique/free_window
--@include lib/newest/hand_back
--@include lib/stream/forget
--@include lib/signal/parked
local function forget_job(id, unique_key, window, parked_for, has_stream)
  hand_back(id)
  leave_wait(id, parked_for)
  if unique_key and redis.call('HGET', unique, unique_key) == id then
    redis.call('HDEL', unique, unique_key)
  end
  free_window(id, window)
  redis.call('UNLINK', job .. id)
  if has_stream then
    forget_stream(id)
  end
  redis.call('ZREM', ended_ids, mark_of(id))
end
