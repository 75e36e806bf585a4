-- hand_back(id): returns the unique key of a job to the older one whose end it waits for. Called before the newer job ends
--   without a start. Otherwise the key would be free while the older one runs.
-- Needs: lib/core/keys.
local function hand_back(id)
  local key, before, after = unpack(redis.call('HMGET', job .. id, 'unique', 'supersedes', 'after'))
  if not (key and before and after) or redis.call('HGET', unique, key) ~= id then
    return
  end
  local status, own_key = unpack(redis.call('HMGET', job .. before, 'status', 'unique'))
  if status == 'processing' and own_key == key then
    redis.call('HSET', unique, key, before)
  end
end
