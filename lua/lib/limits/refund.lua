-- refund(key, id, common): refunds the cost of a job that never started to a rate.
-- key: settings for the queue's rate, or the state of a group. common: the hash with the settings of all groups.
-- Does nothing if the rate was changed after the claim, because it had charged another amount. Returns true if
--   it refunded.
-- refund_all(id): refunds to both, while the hash still has the claim. Wakes a worker if the queue's rate earned a start.
-- Needs: groups, job, settings.
--@include lib/core/now_us
--@include lib/limits/rate
local function refund(key, id, common)
  local limit, period, burst, set_at, tat, part, lateness = unpack(redis.call('HMGET', key, 'rate_limit', 'rate_period_ms', 'rate_burst',
    'rate_set_at', 'rate_tat_us', 'rate_part', 'rate_late'))
  if not limit and common then
    limit, period, burst, set_at = unpack(redis.call('HMGET', common, 'rate_limit', 'rate_period_ms', 'rate_burst', 'rate_set_at'))
  end
  local rate = tat and read_rate(limit, period, burst, tat, part, lateness)
  if not rate then
    return
  end
  local asked, fence = unpack(redis.call('HMGET', job .. id, 'cost', 'fence'))
  if (tonumber(fence or nil) or 0) > (tonumber(set_at or nil) or -1) then
    charge_rate(rate, -math.floor(math.min(math.max(1, tonumber(asked or nil) or 1), rate.burst))) -- as lib/limits/slots_and_rate does
    write_rate(key, rate)
    return true
  end
end

local function refund_all(id)
  if refund(settings, id) then
--@include lib/core/wake
  end
  local group = redis.call('HGET', job .. id, 'group')
  if group then
    refund(groups .. 'state:' .. group, id, groups .. 'settings')
  end
end
