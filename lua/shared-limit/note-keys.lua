#!lua flags=allow-oom
-- Notes which keys of a limit a worker used, and reads the values that apply to each key. The 10,000 keys that were used last are
-- kept, each for a day.
-- Transition: none
-- KEYS[1] limit  hash
-- KEYS[2] rates  prefix of the rates, each a hash
-- KEYS[3] keys   sorted set, its keys, score = when each was used last in ms
-- ARGV    the keys
-- Returns the values as lib/shared_limit/write has them, or '' if no app has declared any and none were set; and for how long no job
--   of any key may start, in ms: nil if one may, -1 without an end. Repeated: the same.
local limit, rates, keys = unpack(KEYS)
local most_keys, key_ms = 10000, 86400000
--@include lib/core/clock
--@include lib/shared_limit/rates
for i = 1, #ARGV, 1000 do
  local noted = {}
  for _, key in ipairs({ unpack(ARGV, i, math.min(i + 999, #ARGV)) }) do
    noted[#noted + 1], noted[#noted + 2] = now_text, key
  end
  redis.call('ZADD', keys, unpack(noted))
end
if #ARGV > 0 then
  redis.call('ZREMRANGEBYRANK', keys, 0, -most_keys - 1)
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', string.format('%.0f', now - key_ms))
  redis.call('PEXPIRE', keys, string.format('%.0f', key_ms))
end

local is_set, configured, max_running, count, paused_at, paused_until, rests_until, rest_ms = unpack(redis.call('HMGET', limit, 'set',
  'configured', 'max_running', 'rates', 'paused_at_ms', 'paused_until_ms', 'rests_until_ms', 'rest_ms'))
paused_until, rests_until = tonumber(paused_until or nil), tonumber(rests_until or nil) or 0
local held = math.min(rests_until - now, tonumber(rest_ms or nil) or 0)
if paused_at and not paused_until then
  held = -1
elseif paused_at then
  held = math.max(held, paused_until - now)
end
local list = {}
for _, each in ipairs(read_rates(count)) do
  local rate_limit, period, burst = unpack(each[3])
  list[#list + 1] = { rate_limit, period, burst }
end
local values = string.format('["%s",%s]', max_running or '', #list > 0 and cjson.encode(list) or '[]')
return { (is_set or configured) and values or '', (held > 0 or held == -1) and held or false }
