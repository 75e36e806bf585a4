-- write_limits(owner, limits): writes the limits of a queue, in the order of lua/limits/set.lua, '' for one that it has not, and
-- wakes a worker, since more may start now. What the rate has spent stays spent.
-- delete_limits(): takes all limits away. Needs: settings, groups, wake.
--@include lib/limits/write_group
local group_defaults_key = groups .. 'settings'

-- What stands in turns is checked when its turn comes; the others are looked at anew, in slices, see lib/group/open.
local function review_groups()
  if redis.call('EXISTS', groups .. 'depths') == 1 then
    redis.call('HSET', group_defaults_key, 'review_cursor', '-1')
  end
end

local function delete_limits()
  redis.call('HDEL', settings, 'limits_owner', 'limits_text', 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst',
    'rate_interval_us', 'rate_tat_us', 'timer_until_ms', 'timer_worker', 'max_pending')
  delete_group_settings(group_defaults_key)
  review_groups()
end

local function write_limits(owner, limits)
  local max_running, rate_limit, rate_period, rate_burst = unpack(limits)
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
  write_group_settings(group_defaults_key, { unpack(limits, 5) })
  redis.call('ZADD', wake, '0', '1')
end
