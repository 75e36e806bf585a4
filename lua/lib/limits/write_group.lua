-- write_group_settings(key, values): writes the settings of one group, or of all groups, in the order of
--   lua/group/set.lua; '' for none. A rate keeps what it has spent.
-- delete_group_settings(key): deletes them.
-- write_rate(key, limit, period, burst, before): writes a rate. before: its previous interval
-- Needs: sequence.
local setting_names = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', 'weight', 'max_pending', 'on_dead_head',
  'plain_weight', 'max_pending_bytes' }

local function delete_group_settings(key)
  redis.call('HDEL', key, 'rate_interval_us', unpack(setting_names))
end

-- Writes a rate. The interval keeps its fraction, so that a rate of seven a second does not drift. Claims up to the
-- fence rate_set_at charged another amount.
local function write_rate(key, limit, period, burst, before)
  local interval = string.format('%.17g', tonumber(period) * 1000 / tonumber(limit))
  redis.call('HSET', key, 'rate_limit', limit, 'rate_period_ms', period, 'rate_burst', burst, 'rate_interval_us', interval)
  if interval ~= before then
    redis.call('HSET', key, 'rate_set_at', redis.call('GET', sequence) or '0')
  end
end

local function write_group_settings(key, values)
  local before = redis.call('HGET', key, 'rate_interval_us')
  delete_group_settings(key)
  for i, name in ipairs(setting_names) do
    if (values[i] or '') ~= '' then
      redis.call('HSET', key, name, values[i])
    end
  end
  if (values[2] or '') ~= '' then
    write_rate(key, values[2], values[3], values[4], before)
  else
    redis.call('HDEL', key, 'rate_set_at')
  end
end
