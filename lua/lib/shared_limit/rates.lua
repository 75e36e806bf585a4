-- read_rates(count): returns the rates of a limit, at most as many as it may have. Each is a list: its key, the rate by
--   lib/limits/rate, and the fields of its hash.
-- Needs: rates.
--@include lib/core/now_us
--@include lib/limits/rate
--@include lib/shared_limit/most_rates
local function read_rates(count)
  local list = {}
  for i = 1, math.min(tonumber(count or nil) or 0, most_rates) do
    local fields = redis.call('HMGET', rates .. i, 'rate_limit', 'rate_period_ms', 'rate_burst', 'rate_tat_us', 'rate_part', 'rate_late')
    local rate = read_rate(unpack(fields))
    if rate then
      list[#list + 1] = { rates .. i, rate, fields }
    end
  end
  return list
end
