-- write_limits(owner, max_running, rate_limit, rate_period, rate_burst): writes the limits of a queue, '' for one that it has
-- not, and wakes a worker, since more may start now. What the rate has spent stays spent.
-- delete_limits(): takes all limits away. Needs: settings, wake.
local function delete_limits()
  redis.call('HDEL', settings, 'limits_owner', 'limits_text', 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst',
    'rate_interval_us', 'rate_tat_us', 'timer_until_ms', 'timer_worker')
end

local function write_limits(owner, max_running, rate_limit, rate_period, rate_burst)
  local spent_until = redis.call('HGET', settings, 'rate_tat_us')
  delete_limits()
  redis.call('HSET', settings, 'limits_owner', owner)
  if max_running ~= '' then
    redis.call('HSET', settings, 'max_running', max_running)
  end
  if rate_limit ~= '' then
    -- The interval keeps its fraction, so that seven a second does not drift.
    redis.call('HSET', settings, 'rate_limit', rate_limit, 'rate_period_ms', rate_period, 'rate_burst', rate_burst,
      'rate_interval_us', string.format('%.17g', tonumber(rate_period) * 1000 / tonumber(rate_limit)))
    if spent_until then
      redis.call('HSET', settings, 'rate_tat_us', spent_until)
    end
  end
  redis.call('ZADD', wake, '0', '1')
end
