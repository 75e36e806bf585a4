-- hold_timer(wait, is_full): lets one worker of the fleet wait until the limit allows the next job, so that idle
--   workers do not all poll then. Returns the ms that this worker waits, or nil if another one waits no longer than
--   that. A worker without a free slot hands the wait over by the wake marker. Counts the waits, in a command that it
--   sends anyway: a wait is another one if the one before is over, or if it ends later.
-- Needs: settings, wake, worker, now.
local timer_slack_ms = 100 -- how much longer another worker may keep the time

local function hold_timer(wait, is_full)
  if is_full then
    redis.call('HDEL', settings, 'timer_worker') -- the time stays, so that the next worker's wait is the same one
    redis.call('ZADD', wake, '0', '1')
    return nil
  end
  local timer_until, holder, waits = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker', 'rate_waits'))
  timer_until = tonumber(timer_until or nil) or 0
  local opened_at = timer_until - timer_slack_ms
  -- Rounding of a millisecond or two makes no earlier time.
  if holder and holder ~= worker and timer_until > now and opened_at <= now + wait + 10 then
    return nil
  end
  local is_another = opened_at <= now or now + wait > timer_until
  redis.call('HSET', settings, 'timer_until_ms', string.format('%.0f', now + wait + timer_slack_ms), 'timer_worker', worker,
    'rate_waits', string.format('%d', (tonumber(waits or nil) or 0) + (is_another and 1 or 0)))
  return wait
end
