-- free_window(id, key): frees a unique key that is held for a time, if this job still holds it. Whoever deletes a job on
--   purpose does so. Retention leaves the key until its time is over.
-- Needs: lib/core/keys.
local function free_window(id, key)
  if key and redis.call('HGET', unique, key) == id then
    redis.call('HDEL', unique, key)
    redis.call('ZREM', unique_expiries, key)
  end
end
