-- pause(key, by, reason): records in a hash when, by whom and why it was paused. Returns 1 if it was not paused before,
--   else 0.
-- resume(key): removes that. Returns 1 if it was paused, else 0.
-- Needs: lib/core/clock.
local function pause(key, by, reason)
  if redis.call('HSETNX', key, 'paused_at_ms', now_text) == 0 then
    return 0
  end
  for field, value in pairs({ paused_by = by, pause_reason = reason }) do
    if value ~= '' then
      redis.call('HSET', key, field, value)
    end
  end
  return 1
end

local function resume(key)
  redis.call('HDEL', key, 'paused_by', 'pause_reason')
  return redis.call('HDEL', key, 'paused_at_ms')
end
