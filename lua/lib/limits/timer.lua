-- hold_timer(wait, is_full): lets one worker of the fleet wait until the limit allows the next job. So idle workers do
--   not all poll then. Returns the ms that this worker waits, or nil while another one waits no longer than that. A
--   worker without a free slot hands the wait over by the wake marker. Counts the waits, in a command that it sends
--   anyway. A wait is another one if the previous is over, or if it ends later.
-- Needs: settings, worker, lib/core/clock.
local same_wait_ms = 100 -- by how much a wait may end later and still count as the same one

local function hold_timer(wait, is_full)
  if is_full then
    redis.call('HDEL', settings, 'timer_worker') -- the time stays, so that the next worker's wait is the same one
--@include lib/core/wake
    return nil
  end
  local timer_until, holder, waits = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker', 'rate_waits'))
  timer_until = tonumber(timer_until or nil) or 0
  -- Rounding of a millisecond or two makes no earlier time.
  if holder and holder ~= worker and timer_until > now and timer_until <= now + wait + 10 then
    return nil
  end
  local is_another = timer_until <= now or now + wait > timer_until + same_wait_ms
  redis.call('HSET', settings, 'timer_until_ms', string.format('%.0f', now + wait), 'timer_worker', worker,
    'rate_waits', string.format('%d', (tonumber(waits or nil) or 0) + (is_another and 1 or 0)))
  return wait
end
