#!lua flags=no-writes,allow-oom
-- Reads the queue's limits in force.
-- KEYS: the standard keys, see lib/core/keys
-- Returns now in ms, then:
--   '1' if they were set at run time, the worker that configures some or nil
--   max_running, rate limit, its period in ms, its burst, when the rate lets the next job start in ms, nil for now
--   until when the queue rests in ms
--   the settings of all groups in the order of lua/limits/set.lua
--   max_pending and max_pending_bytes
--   while limits are set at run time, those of the code as JSON: '' if live workers have none, nil if unknown
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/now_us
--@include lib/limits/rate
local limits = redis.call('HMGET', settings, 'limits_set', 'limits_owner', 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst',
  'rate_tat_us', 'rests_until_ms')
local rate = read_rate(limits[4], limits[5], limits[6], unpack(redis.call('HMGET', settings, 'rate_tat_us', 'rate_part', 'rate_late')))
local next_us = rate and opens_us(rate, 1)
limits[7] = next_us and next_us > now_us and string.format('%.0f', math.ceil(next_us / 1000)) or false
table.insert(limits, 1, now_text)
for _, value in ipairs(redis.call('HMGET', groups .. 'settings', 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst',
  'weight', 'max_pending', 'on_dead_head', 'plain_weight', 'max_pending_bytes')) do
  limits[#limits + 1] = value
end
limits[#limits + 1] = redis.call('HGET', settings, 'max_pending')
limits[#limits + 1] = redis.call('HGET', settings, 'max_pending_bytes')
limits[#limits + 1] = limits[2] and (redis.call('HGET', settings, 'limits_text')
  or redis.call('EXISTS', workers) == 1 and '') or false
return limits
