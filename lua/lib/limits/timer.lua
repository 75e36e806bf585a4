-- hold_timer(wait, is_full): one worker of the fleet keeps the time until the limit lets the next job start, so that a hundred
-- idle workers do not all ask at that moment. Returns the ms that this worker waits; nil where another one keeps the time.
-- A worker without a free slot hands the time over to another one, by the wake marker.
-- Needs: settings, wake, worker, now.
local function hold_timer(wait, is_full)
  if is_full then
    redis.call('HDEL', settings, 'timer_until_ms')
    redis.call('ZADD', wake, '0', '1')
    return nil
  end
  local timer_until, holder = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker'))
  if holder ~= worker and (tonumber(timer_until or nil) or 0) > now then
    return nil
  end
  redis.call('HSET', settings, 'timer_until_ms', string.format('%.0f', now + wait + 100), 'timer_worker', worker)
  return wait
end
