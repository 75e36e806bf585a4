-- The limits of a queue, read once in a claim. They are fields of settings, so a queue without limits never runs this.
-- room_for(count): returns how many of count jobs may start now, and with 0 the ms until the next. The ms are nil if
--   time alone frees no slot.
-- slots_left: how many more jobs max_running allows, after room_for.
-- pay(cost): takes the cost of one job from the rate; false if the rate has less. A negative cost gives that back.
-- wait_for_rate(): writes the payment, and returns the ms until the rate lets another job start; nil if it
--   does now.
-- The rate is GCRA: one number, the theoretical arrival time (tat) in microseconds of the server. A burst of n lets n
--   jobs start at once. Then one starts every interval. An idle time earns no more than the burst, because tat is never
--   below now.
-- paused, has_groups, limits_owner: of the same settings. A pause whose time is over is removed; the wait of the reply
--   ends with another one.
-- Needs: claims, reply, settings, lib/core/clock.
local paused, has_groups, max_running, interval, burst, tat, rests_until, limits_owner, rest_ms = unpack(redis.call('HMGET',
  settings, 'paused_at_ms', 'has_groups', 'max_running', 'rate_interval_us', 'rate_burst', 'rate_tat_us', 'rests_until_ms',
  'limits_owner', 'rest_ms'))
if paused then
  local paused_until = tonumber(redis.call('HGET', settings, 'paused_until_ms') or nil)
  if paused_until and paused_until <= now then
    local key = settings
--@include lib/limits/drop_pause
    paused = nil
  elseif paused_until then
    reply[2] = paused_until - now
  end
end
max_running, interval, burst = tonumber(max_running or nil), tonumber(interval or nil), tonumber(burst or nil)
rests_until, rest_ms = tonumber(rests_until or nil) or 0, tonumber(rest_ms or nil) or math.huge
--@include lib/core/now_us
tat = math.max(tonumber(tat or nil) or 0, now_us)
-- The clock of now can have made no later ones. It was ahead for a while. See lib/group/state for groups.
if interval and tat > now_us + burst * interval + 1 then
  tat = now_us + burst * interval
  redis.call('HSET', settings, 'rate_tat_us', string.format('%.0f', tat))
end
if rests_until > now + rest_ms then
  rests_until = now + rest_ms
  redis.call('HSET', settings, 'rests_until_ms', string.format('%.0f', rests_until))
end
local is_limited = has_groups or max_running ~= nil or interval ~= nil or rests_until > now
local units, spent, unpaid_wait, slots_left = 0, 0, nil, math.huge

-- Returns the ms until the rate has this many units.
local function ms_until(needed)
  return math.max(1, math.ceil((tat + needed * interval - burst * interval - now_us) / 1000))
end

local function room_for(count)
  if max_running then
    slots_left = math.max(0, max_running - redis.call('ZCARD', claims))
    count = math.min(count, slots_left)
  end
  if count > 0 and rests_until > now then
    return 0, rests_until - now
  end
  if not interval or count == 0 then
    return count, nil
  end
  units = math.max(0, math.floor((now_us + burst * interval - tat) / interval + 1e-6))
  return math.min(count, units), units < 1 and ms_until(1) or nil
end

local function pay(cost)
  if not interval then
    return true
  end
  cost = math.max(-burst, math.min(cost, burst))
  if spent + cost > units then
    unpaid_wait = ms_until(spent + cost)
    return false
  end
  spent = spent + cost
  return true
end

local function wait_for_rate()
  if not interval or spent == 0 then
    return unpaid_wait
  end
  tat = tat + spent * interval
  redis.call('HSET', settings, 'rate_tat_us', string.format('%.0f', tat))
  return unpaid_wait or spent == units and ms_until(1) or nil
end
