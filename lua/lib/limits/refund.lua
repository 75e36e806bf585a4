-- refund(key, id, common): gives back what a job that never started has taken from a rate: that of the queue (key is settings), or of a
-- group (key is its state; where it has no rate of its own, common is the hash with that of all groups). Nothing where the rate was
-- changed after the claim, since it took another amount. refund_all(id): from both, while the hash still tells of the claim.
-- Needs: job, settings, groups.
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
    local cost = math.min(tonumber(asked or nil) or 1, tonumber(burst))
    redis.call('HSET', key, 'rate_tat_us', string.format('%.0f', tonumber(tat) - cost * tonumber(interval)))
  end
end

local function refund_all(id)
  refund(settings, id)
  local group = redis.call('HGET', job .. id, 'group')
  if group then
    refund(groups .. 'state:' .. group, id, groups .. 'settings')
  end
end
