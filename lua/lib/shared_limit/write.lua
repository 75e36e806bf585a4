-- write_values(most, list): writes the values of a limit. most: how many permits, or '' for no bound. list: the rates, each
--   as limit, period in ms and burst. The instant of a rate stays, so a change starts no new burst.
-- write_configured(): writes the values that the apps configure; none without any.
-- Needs: limit, rates.
--@include lib/shared_limit/most_rates
local function write_values(most, list)
  local before = tonumber(redis.call('HGET', limit, 'rates') or nil) or 0
  for i, rate in ipairs(list) do
    local rate_limit, rate_period, rate_burst = unpack(rate)
    redis.call('HSET', rates .. i, 'rate_limit', rate_limit, 'rate_period_ms', rate_period, 'rate_burst', rate_burst)
  end
  for i = #list + 1, math.min(before, most_rates) do
    redis.call('UNLINK', rates .. i)
  end
  redis.call('HSET', limit, 'max_running', most, 'rates', #list)
  redis.call('HINCRBY', limit, 'version', 1) -- a permit of before is not refunded to other rates
end

local function write_configured()
  local most, list = unpack(cjson.decode(redis.call('HGET', limit, 'configured') or '["",[]]')) -- as texts
  write_values(most, list)
end
