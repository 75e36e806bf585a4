-- once_per_interval(field, pace): whether this call is to do what the sweeps of all replicas need to do but once in `pace` ms; `field` of
-- the sweep's memory says when one last began. 0: whatever others do. Needs: keys, now.
local function once_per_interval(field, pace)
  if pace == 0 then
    return true
  end
  local last = tonumber(redis.call('HGET', sweep, field) or nil)
  if last and last <= now and now - last < pace then
    return false
  end
  redis.call('HSET', sweep, field, now)
  return true
end
