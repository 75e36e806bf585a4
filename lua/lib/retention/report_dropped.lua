-- report_dropped(): returns how many dead letters the cap deleted since the last report, at most once a minute. So one
--   process of the fleet logs the first of a burst at once, and then a sum each minute. A report whose reply is lost is
--   not repeated; dropped_total has the number.
-- Needs: lib/core/clock, lib/core/keys.
local report_pace = 60000
local function report_dropped()
  local dropped, reported_at = unpack(redis.call('HMGET', sweep, 'dropped', 'dropped_reported_at_ms'))
  reported_at = tonumber(reported_at or nil)
  if not dropped or reported_at and reported_at <= now and now - reported_at < report_pace then
    return 0
  end
  redis.call('HDEL', sweep, 'dropped')
  redis.call('HSET', sweep, 'dropped_reported_at_ms', now_text)
  return tonumber(dropped) or 0
end
