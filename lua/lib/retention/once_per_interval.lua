-- once_per_interval(field, pace): returns whether this call must do the work that all replicas need only once in `pace`
-- ms. `field` of the sweep's memory has the time of the last start. With 0 it always returns true.
-- Needs: lib/core/clock, lib/core/keys.
local function once_per_interval(field, pace)
  if pace == 0 then
    return true
  end
  local last = tonumber(redis.call('HGET', sweep, field) or nil)
  if last and last <= now and now - last < pace then
    return false
  end
  redis.call('HSET', sweep, field, now_text)
  return true
end
