-- The state of a limit that queues share, see docs/internals/limits.md. It removes permits whose time is over, and
--   queues that have asked for too long ago to be served.
-- version: a number that grows when the values change. paused, paused_until, rests_until: in ms; nil for none.
-- free: how many permits max_running leaves; math.huge without one. all_rates: by lib/shared_limit/rates.
-- line: the queues that wait, the first first, at most 100.
-- starts_left(cost): returns how many permits may be leased now to a queue whose jobs cost this much of each rate.
-- cost_of(cost, rate): returns what such a job costs of a rate: at most its burst.
-- leave_line(queue): takes a queue out of the line.
-- call_first(most): returns up to this many waiting queues to wake, at most 20. One that does not come soon is passed over.
-- Needs: limit, permits, seen, waiting, lib/core/clock.
--@include lib/shared_limit/rates
local most_woken, longest_pass_ms = 20, 100

local line
local function leave_line(name)
  redis.call('ZREM', waiting, name)
  redis.call('ZREM', seen, name)
  redis.call('HDEL', limit, 'keeper:' .. name, 'cost:' .. name)
  line = redis.call('ZRANGE', waiting, 0, 99)
end

local max_running, rate_count, version, paused, paused_until, rests_until, rest_ms, longest_ms = unpack(redis.call('HMGET', limit,
  'max_running', 'rates', 'version', 'paused_at_ms', 'paused_until_ms', 'rests_until_ms', 'rest_ms', 'longest_ms'))
max_running, version = tonumber(max_running or nil), version or '0'
paused_until, rests_until = tonumber(paused_until or nil), tonumber(rests_until or nil) or 0
rest_ms, longest_ms = tonumber(rest_ms or nil) or 0, tonumber(longest_ms or nil) or 0
if paused_until and paused_until <= now then
  redis.call('HDEL', limit, 'paused_at_ms', 'paused_until_ms', 'pause_reason', 'paused_by')
  paused, paused_until = nil, nil
end
-- The clock of now can have made no later ones. It was ahead for a while.
rests_until = math.min(rests_until, now + rest_ms)
for _, permit in ipairs(redis.call('ZRANGE', permits, string.format('(%.0f', now + longest_ms), '+inf', 'BYSCORE', 'LIMIT', 0, 100)) do
  redis.call('ZADD', permits, string.format('%.0f', now + longest_ms), permit)
end
redis.call('ZREMRANGEBYSCORE', permits, '-inf', now_text)
for _, name in ipairs(redis.call('ZRANGE', seen, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, 100)) do
  leave_line(name)
end

local free = max_running and math.max(0, max_running - redis.call('ZCARD', permits)) or math.huge
local all_rates = read_rates(rate_count)
line = redis.call('ZRANGE', waiting, 0, 99)

local function cost_of(cost, rate)
  return math.min(cost, rate.burst)
end

local function starts_left(cost)
  local left = free
  for _, each in ipairs(all_rates) do
    left = math.min(left, math.floor(starts_now(each[2]) / cost_of(cost, each[2])))
  end
  return left
end

local function call_first(most)
  local called, until_text = {}, string.format('%.0f', now + longest_pass_ms)
  for _, name in ipairs(line) do
    if #called < math.min(most, most_woken) then
      redis.call('ZADD', seen, 'XX', 'LT', until_text, name)
      called[#called + 1] = name
    end
  end
  return called
end
