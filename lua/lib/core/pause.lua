-- pause(key, by, reason, for_ms): records in a hash when, by whom, why and until when it was paused. Returns 1 if it was
--   not paused before, else 0.
-- resume(key): removes that. Returns 1 if it was paused, else 0.
-- Needs: lib/core/clock.
local function resume(key)
  local paused_at, ends = unpack(redis.call('HMGET', key, 'paused_at_ms', 'paused_until_ms'))
--@include lib/limits/drop_pause
  return paused_at and (tonumber(ends or nil) or math.huge) > now and 1 or 0
end

local function pause(key, by, reason, for_ms)
  local ends = tonumber(redis.call('HGET', key, 'paused_until_ms') or nil) or math.huge
  if ends <= now then
    resume(key)
  end
  if redis.call('HSETNX', key, 'paused_at_ms', now_text) == 0 then
    return 0
  end
  local until_text = for_ms ~= '' and string.format('%d', now + tonumber(for_ms)) or ''
  for field, value in pairs({ paused_by = by, pause_reason = reason, paused_until_ms = until_text }) do
    if value ~= '' then
      redis.call('HSET', key, field, value)
    end
  end
  return 1
end
