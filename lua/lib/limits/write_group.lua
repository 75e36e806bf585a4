-- write_group_settings(key, values): writes the settings of one group, or of all groups, in the order of
--   lua/group/set.lua; '' for none. A rate keeps what it has spent.
-- delete_group_settings(key): deletes them.
-- note_rate(key, before): notes up to which fence claims were charged by another rate of the hash `key`, if it changed.
--   before: its limit and its period, by HMGET
-- Needs: sequence.
local setting_names = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', 'weight', 'max_pending', 'on_dead_head',
  'plain_weight', 'max_pending_bytes' }

local function delete_group_settings(key)
  redis.call('HDEL', key, unpack(setting_names))
end

local function note_rate(key, before)
  local limit, period = unpack(redis.call('HMGET', key, 'rate_limit', 'rate_period_ms'))
  if not limit then
    redis.call('HDEL', key, 'rate_set_at')
  elseif limit ~= before[1] or period ~= before[2] then
    redis.call('HSET', key, 'rate_set_at', redis.call('GET', sequence) or '0')
  end
end

local function write_group_settings(key, values)
  local before = redis.call('HMGET', key, 'rate_limit', 'rate_period_ms')
  delete_group_settings(key)
  for i, name in ipairs(setting_names) do
    if (values[i] or '') ~= '' then
      redis.call('HSET', key, name, values[i])
    end
  end
  note_rate(key, before)
end
