-- write_limits(limits): writes the limits of a queue, in the order of lua/limits/set.lua, '' for none. Wakes a worker,
--   because more jobs may start now. The spent rate stays spent.
-- hold_configured_limits(): writes the limits that workers configure. Without any it clears all limits, and wakes a
--   worker too.
-- Needs: lib/core/keys.
--@include lib/limits/write_group
--@include lib/limits/keep_waits
local group_defaults_key = groups .. 'settings'
local spent_fields = { 'rate_tat_us', 'rate_part', 'rate_late' }

-- Reviews the groups in slices, see lib/group/open_groups. Groups in turns are checked at their turn.
local function review_groups()
  if redis.call('EXISTS', groups .. 'depths') == 1 then
    redis.call('HSET', group_defaults_key, 'review_cursor', '-1')
  end
end

local function delete_queue_limits()
  redis.call('HDEL', settings, 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst',
    'timer_until_ms', 'timer_worker', 'max_pending', 'max_pending_bytes', unpack(spent_fields))
  review_groups()
end

local function write_limits(limits)
  local max_running, rate_limit, rate_period, rate_burst = unpack(limits)
  local before, spent = redis.call('HMGET', settings, 'rate_limit', 'rate_period_ms'), redis.call('HMGET', settings, unpack(spent_fields))
  delete_queue_limits()
  if max_running ~= '' then
    redis.call('HSET', settings, 'max_running', max_running)
  end
  if rate_limit ~= '' then
    redis.call('HSET', settings, 'rate_limit', rate_limit, 'rate_period_ms', rate_period, 'rate_burst', rate_burst)
  end
  note_rate(settings, before)
  if spent[1] and (rate_limit ~= '' or redis.call('HEXISTS', settings, 'limits_text') == 1) then
    for i, field in ipairs(spent_fields) do
      redis.call('HSET', settings, field, spent[i] or '')
    end
  end
  write_group_settings(group_defaults_key, { unpack(limits, 5) })
--@include lib/core/wake
end

local function hold_configured_limits()
  local text = redis.call('HGET', settings, 'limits_text')
  if text then
    write_limits(cjson.decode(text)) -- as texts
  else
    delete_queue_limits()
    redis.call('HDEL', settings, 'rate_set_at')
    keep_waits()
    write_group_settings(group_defaults_key, {})
--@include lib/core/wake
  end
end
