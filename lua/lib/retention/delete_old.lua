-- delete(id): deletes a job and its keys, and counts it in deleted.
-- is_old(id, field, ...): returns whether the first existing time among these fields is `latest` or earlier.
-- Needs: deleted, latest, waits, lib/batch/job_ended, lib/core/keys.
--@include lib/retention/forget_job
local function delete(id)
  local unique_key, window, batch, dependents, has_stream, parked_for = unpack(redis.call('HMGET', job .. id, 'unique', 'window',
    'batch', 'dependents', 'stream', 'waits'))
  forget_job(id, unique_key, window, parked_for, has_stream)
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
