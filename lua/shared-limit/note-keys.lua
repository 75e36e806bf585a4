#!lua flags=allow-oom
-- Notes which keys of a limit a worker used, and which of them gave no permit. It reads the values that apply to each key. The
-- 10,000 keys that were used last are kept, each for a day, and as many that gave no permit.
-- Transition: none
-- KEYS[1] limit   hash
-- KEYS[2] rates   prefix of the rates, each a hash
-- KEYS[3] keys    sorted set, its keys, score = when each was used last in ms
-- KEYS[4] full    sorted set, keys without a free permit for which jobs wait, score = until when their groups rest in ms
-- KEYS[5] closed  sorted set, keys that are paused or rest, and for which jobs wait, score = the same
-- ARGV[1] how many keys were used
-- ARGV[2..] these keys
-- ARGV[..] for each key without a permit: the key, '1' if it is paused or rests, else '0', and how long its group rests in ms
-- Returns the values as lib/shared_limit/write has them, or '' if no app has declared any and none were set; and for how long no job
--   of any key may start, in ms: nil if one may, -1 without an end. Repeated: the same.
local limit, rates, keys, full, closed = unpack(KEYS)
local most_keys, key_ms, longest_rest_ms = 10000, 86400000, 30000
local first_refused = tonumber(ARGV[1]) + 2
--@include lib/core/clock
--@include lib/shared_limit/rates

-- Writes pairs of score and key. The keys with the lowest scores go, if there are too many.
local function note(place, pairs_of, lifetime)
  for i = 1, #pairs_of, 2000 do
    redis.call('ZADD', place, unpack(pairs_of, i, math.min(i + 1999, #pairs_of)))
  end
  redis.call('ZREMRANGEBYRANK', place, 0, -most_keys - 1)
  redis.call('PEXPIRE', place, string.format('%.0f', lifetime))
end

local used = {}
for i = 2, first_refused - 1 do
  used[#used + 1], used[#used + 2] = now_text, ARGV[i]
end
if #used > 0 then
  note(keys, used, key_ms)
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', string.format('%.0f', now - key_ms))
end
local refused = { ['0'] = {}, ['1'] = {} }
for i = first_refused, #ARGV, 3 do
  local list = refused[ARGV[i + 1]]
  list[#list + 1], list[#list + 2] = string.format('%.0f', now + math.min(tonumber(ARGV[i + 2]), longest_rest_ms)), ARGV[i]
  redis.call('ZREM', ARGV[i + 1] == '1' and full or closed, ARGV[i])
end
for state, place in pairs({ ['0'] = full, ['1'] = closed }) do
  if #refused[state] > 0 then
    note(place, refused[state], longest_rest_ms)
    redis.call('ZREMRANGEBYSCORE', place, '-inf', now_text)
  end
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
