-- hold_timer(wait, is_full): one worker of the fleet keeps the time until the limit lets the next job start, so that a hundred
-- idle workers do not all ask at that moment. Returns the ms that this worker waits; nil where another one keeps a time that is
-- not later. A worker without a free slot hands the time over to another one, by the wake marker.
-- Needs: settings, wake, worker, now.
local timer_slack_ms = 100 -- how much longer another worker may keep the time

local function hold_timer(wait, is_full)
  if is_full then
    redis.call('HDEL', settings, 'timer_until_ms')
    redis.call('ZADD', wake, '0', '1')
    return nil
  end
  local timer_until, holder = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker'))
  timer_until = tonumber(timer_until or nil) or 0
  -- Rounding of a millisecond or two makes no earlier time.
  if holder ~= worker and timer_until > now and timer_until - timer_slack_ms <= now + wait + 10 then
    return nil
  end
  redis.call('HSET', settings, 'timer_until_ms', string.format('%.0f', now + wait + timer_slack_ms), 'timer_worker', worker)
  return wait
end
