-- delete(id): deletes a job and its keys, and counts it in deleted.
-- is_old(id, field, ...): returns whether the first existing time among these fields is `latest` or earlier.
-- Needs: deleted, latest, waits, lib/batch/job_ended, lib/core/keys.
--@include lib/ids/mark_of
--@include lib/unique/free_window
--@include lib/newest/hand_back
local function delete(id)
  local unique_key, window, batch, dependents = unpack(redis.call('HMGET', job .. id, 'unique', 'window', 'batch', 'dependents'))
  hand_back(id)
  if unique_key and redis.call('HGET', unique, unique_key) == id then
    redis.call('HDEL', unique, unique_key)
  end
  free_window(id, window)
  redis.call('UNLINK', job .. id)
  redis.call('ZREM', ended_ids, mark_of(id))
  if waits then
    job_ended(id, batch, dependents, 'removed', '')
  end
  deleted = deleted + 1
end

local function is_old(id, ...)
  for _, field in ipairs({ ... }) do
    local at = tonumber(redis.call('HGET', job .. id, field) or nil)
    if at then
      return at <= latest
    end
  end
  return false
end
