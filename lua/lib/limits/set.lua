-- set_limits(arguments): sets the limits of the queue at run time, in the order of lua/limits/set.lua. Returns '', or which
--   rate would have a part only. Then nothing is changed.
-- Needs: lib/core/keys.
--@include lib/limits/write
local queue_fields = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', [14] = 'max_pending', [15] = 'max_pending_bytes' }

local function set_limits(limits)
  for i, value in ipairs(limits) do
    local key, field = settings, queue_fields[i]
    if not field then
      key, field = group_defaults_key, setting_names[i - 4]
    end
    limits[i] = value == '=' and (redis.call('HGET', key, field) or '') or value
  end
  for first, name in pairs({ [2] = 'rateLimit', [6] = 'groups.rateLimit' }) do
    local limit, period, burst = unpack(limits, first, first + 2)
    if limit .. period .. burst ~= '' and (limit == '' or period == '') then
      return name
    end
    limits[first + 2] = limit ~= '' and burst == '' and '1' or burst
  end
  redis.call('HSET', settings, 'limits_set', '1')
  write_limits({ unpack(limits, 1, 13) })
  for field, bound in pairs({ max_pending = limits[14], max_pending_bytes = limits[15] }) do
    if bound ~= '' then
      redis.call('HSET', settings, field, bound)
    end
  end
  return ''
end
