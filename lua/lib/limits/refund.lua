-- refund(key, id, common): refunds the cost of a job that never started to a rate.
-- key: settings for the queue's rate, or the state of a group. common: the hash with the settings of all groups.
-- Does nothing if the rate was changed after the claim, because it had charged another amount. Returns true if
--   it refunded.
-- refund_all(id): refunds to both, while the hash still has the claim. Wakes a worker if the queue's rate earned a start.
-- Needs: groups, job, settings.
local function refund(key, id, common)
  local interval, burst, set_at, tat = unpack(redis.call('HMGET', key, 'rate_interval_us', 'rate_burst', 'rate_set_at', 'rate_tat_us'))
  if not interval and common then
    interval, burst, set_at = unpack(redis.call('HMGET', common, 'rate_interval_us', 'rate_burst', 'rate_set_at'))
  end
  if not interval or not tat then
    return
  end
  local asked, fence = unpack(redis.call('HMGET', job .. id, 'cost', 'fence'))
  if (tonumber(fence or nil) or 0) > (tonumber(set_at or nil) or -1) then
    local cost = math.min(math.max(1, tonumber(asked or nil) or 1), tonumber(burst)) -- as lib/limits/slots_and_rate does
    redis.call('HSET', key, 'rate_tat_us', string.format('%.0f', tonumber(tat) - cost * tonumber(interval)))
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
