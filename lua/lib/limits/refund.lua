-- refund(key, id, common): gives back what a job that never started has taken from a rate: that of the queue (key is settings), or of a
-- group (key is its state; where it has no rate of its own, common is the hash with that of all groups). refund_all(id): from
-- both. Needs: job, settings, groups.
local function refund(key, id, common)
  local interval, burst, tat = unpack(redis.call('HMGET', key, 'rate_interval_us', 'rate_burst', 'rate_tat_us'))
  if not interval and common then
    interval, burst = unpack(redis.call('HMGET', common, 'rate_interval_us', 'rate_burst'))
  end
  if interval and tat then
    local cost = math.min(tonumber(redis.call('HGET', job .. id, 'cost') or nil) or 1, tonumber(burst))
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
