-- write_group_settings(key, values): writes the settings of one group, or of all groups, in the order of lua/group/set.lua; '' for one
-- that it has not. A rate keeps what it has spent. delete_group_settings(key): takes them away.
local setting_names = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', 'weight', 'max_pending', 'on_dead_head',
  'plain_weight' }

local function delete_group_settings(key)
  redis.call('HDEL', key, 'rate_interval_us', unpack(setting_names))
end

local function write_group_settings(key, values)
  delete_group_settings(key)
  for i, name in ipairs(setting_names) do
    if (values[i] or '') ~= '' then
      redis.call('HSET', key, name, values[i])
    end
  end
  if (values[2] or '') ~= '' then
    redis.call('HSET', key, 'rate_interval_us', string.format('%.17g', tonumber(values[3]) * 1000 / tonumber(values[2])))
  end
end
