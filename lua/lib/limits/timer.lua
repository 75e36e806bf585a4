-- hold_timer(wait, is_full): lets one worker of the fleet wait until the limit allows the next job, so that idle
--   workers do not all poll then. Returns the ms that this worker waits, or nil if another one waits no longer than
--   that. A worker without a free slot hands the wait over by the wake marker. Counts the waits, in a command that it
--   sends anyway.
-- Needs: settings, wake, worker, now.
local timer_slack_ms = 100 -- how much longer another worker may keep the time

local function hold_timer(wait, is_full)
  if is_full then
    redis.call('HDEL', settings, 'timer_until_ms')
    redis.call('ZADD', wake, '0', '1')
    return nil
  end
  local timer_until, holder, waits = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker', 'rate_waits'))
  timer_until = tonumber(timer_until or nil) or 0
  -- Rounding of a millisecond or two makes no earlier time.
  if holder ~= worker and timer_until > now and timer_until - timer_slack_ms <= now + wait + 10 then
    return nil
  end
  redis.call('HSET', settings, 'timer_until_ms', string.format('%.0f', now + wait + timer_slack_ms), 'timer_worker', worker,
    'rate_waits', string.format('%d', (tonumber(waits or nil) or 0) + 1))
  return wait
end
