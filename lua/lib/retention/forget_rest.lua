-- forget_rest(): deletes the rest of a queue without limits and groups, and its timer, once the rest is over.
-- Needs: lib/core/clock, lib/core/keys.
--@include lib/limits/keep_waits
local function forget_rest()
  local rests_until, max_running, rate_limit, has_groups = unpack(redis.call('HMGET', settings, 'rests_until_ms', 'max_running',
    'rate_limit', 'has_groups'))
  if rests_until and (tonumber(rests_until) or 0) <= now and not (max_running or rate_limit or has_groups) then
    keep_waits()
    redis.call('HDEL', settings, 'rests_until_ms', 'rest_ms', 'timer_until_ms', 'timer_worker')
  end
end
