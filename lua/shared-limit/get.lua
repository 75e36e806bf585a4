#!lua flags=no-writes,allow-oom
-- Reads a limit: its values, what holds it and what waits for it.
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- KEYS[6] queues   sorted set, queues that use it, score = when that was noted last in ms
-- KEYS[7] keys     sorted set, its keys, score = when each was used last in ms
-- KEYS[8] full     sorted set, keys without a free permit for which jobs wait, score = until when their groups rest in ms
-- KEYS[9] closed   sorted set, keys that are paused or rest, and for which jobs wait, score = the same
-- Returns now in ms, '1' if the values were set at run time, those of the apps as JSON or nil, max_running, the pause: since
--   and until when in ms, its reason, who; until when it rests in ms, then eight:
--   the rates: for each limit, period in ms, burst, when the next may start in ms, or '' for now
--   the holders: for each queue, worker and number of permits
--   the queues that wait, the first first
--   the number of permits, which may be more than 10,000, of which the holders are counted
--   the queues that use it, at most 1,000
--   its keys that were used last, the last first, at most 100
--   how many keys have no free permit, and how many are paused or rest, of those for which jobs wait
-- Repeated: reads again.
local limit, permits, waiting, seen, rates, queues, keys, full, closed = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/longest_use
--@include lib/shared_limit/rates
local reply = redis.call('HMGET', limit, 'set', 'configured', 'max_running', 'paused_at_ms', 'paused_until_ms', 'pause_reason',
  'paused_by', 'rests_until_ms')
table.insert(reply, 1, now_text)

local all_rates = {}
for _, each in ipairs(read_rates(redis.call('HGET', limit, 'rates'))) do
  local _, rate, fields = unpack(each)
  local next_us = opens_us(rate, 1)
  for _, value in ipairs({ fields[1], fields[2], fields[3], next_us > now_us and string.format('%.0f', math.ceil(next_us / 1000)) or '' }) do
    all_rates[#all_rates + 1] = value
  end
end

local counts, holders = {}, {}
for _, permit in ipairs(redis.call('ZRANGE', permits, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 10000)) do
  local holder = string.match(permit, '^([^\t]*\t[^\t]*)\t')
  if holder then
    if not counts[holder] then
      holders[#holders + 1] = holder
    end
    counts[holder] = (counts[holder] or 0) + 1
  end
end
local held = {}
for _, holder in ipairs(holders) do
  local queue, worker = string.match(holder, '^(.*)\t(.*)$')
  held[#held + 1], held[#held + 2], held[#held + 3] = queue, worker, counts[holder]
end

local line = {}
for _, name in ipairs(redis.call('ZRANGE', waiting, 0, 99)) do
  if (tonumber(redis.call('ZSCORE', seen, name) or nil) or 0) > now then
    line[#line + 1] = name
  end
end
reply[10], reply[11], reply[12] = all_rates, held, line
reply[13] = redis.call('ZCOUNT', permits, '(' .. now_text, '+inf')
local used_since = string.format('%.0f', now - longest_use_ms)
reply[14] = redis.call('ZRANGE', queues, used_since, '+inf', 'BYSCORE', 'LIMIT', 0, 1000)
reply[15] = redis.call('ZRANGE', keys, 0, 99, 'REV')
reply[16] = redis.call('ZCOUNT', full, '(' .. now_text, '+inf')
reply[17] = redis.call('ZCOUNT', closed, '(' .. now_text, '+inf')
return reply
