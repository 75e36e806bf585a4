-- The limits of a queue, read once in a claim. They are fields of settings, so a queue without limits never runs this.
-- room_for(count): returns how many of count jobs may start now, and with 0 the ms until the next. The ms are nil if
--   time alone frees no slot.
-- slots_left: how many more jobs max_running allows, after room_for.
-- pay(cost): takes the cost of one job from the rate; false if the rate has less. A negative cost gives that back.
-- wait_for_rate(is_behind): writes the payment, and returns the ms until the rate lets another job start; nil if it
--   does now. is_behind: whether jobs are left waiting
-- rate: by lib/limits/rate; nil without one
-- paused, has_groups, limits_owner: of the same settings. A pause whose time is over is removed; the wait of the reply
--   ends with another one.
-- Needs: claims, reply, settings, lib/core/clock.
--@include lib/core/now_us
--@include lib/limits/rate
--@include lib/core/drop_long
local limits_read = redis.call('HMGET', settings, 'paused_at_ms', 'has_groups', 'max_running', 'rests_until_ms', 'limits_owner', 'rest_ms',
  'rate_limit', 'rate_period_ms', 'rate_burst', 'rate_tat_us', 'rate_part', 'rate_late')
for i = 1, 12 do
  if limits_read[i] and #limits_read[i] > 65536 then
    drop_long(settings)
    limits_read[i] = false
  end
end
local paused, has_groups, max_running, rests_until, limits_owner, rest_ms = unpack(limits_read, 1, 6)
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
max_running = tonumber(max_running or nil)
rests_until, rest_ms = tonumber(rests_until or nil) or 0, tonumber(rest_ms or nil) or math.huge
local rate = limits_read[7] and read_rate(unpack(limits_read, 7, 12))
-- The clock of now can have made no later ones. It was ahead for a while. See lib/group/state for groups.
if rate and rate.is_ahead then
  write_rate(settings, rate)
end
if rests_until > now + rest_ms then
  rests_until = now + rest_ms
  redis.call('HSET', settings, 'rests_until_ms', string.format('%.0f', rests_until))
end
local is_limited = has_groups or max_running ~= nil or rate or rests_until > now
local units, spent, unpaid_wait, slots_left = 0, 0, nil, math.huge

-- Returns the ms until the rate has this many units.
local function ms_until(needed)
  return math.max(1, math.ceil((opens_us(rate, needed) - now_us) / 1000))
end

local function room_for(count)
  if max_running then
    slots_left = math.max(0, max_running - redis.call('ZCARD', claims))
    count = math.min(count, slots_left)
  end
  if count > 0 and rests_until > now then
    return 0, rests_until - now
  end
  if not rate or count == 0 then
    return count, nil
  end
  units = starts_now(rate)
  return math.min(count, units), units < 1 and ms_until(1) or nil
end

local function pay(cost)
  if not rate then
    return true
  end
  cost = math.max(-rate.burst, math.min(cost, rate.burst))
  if spent + cost > units then
    unpaid_wait = ms_until(spent + cost)
    return false
  end
  spent = spent + cost
  return true
end

local function wait_for_rate(is_behind)
  if not rate or spent == 0 then
    return unpaid_wait
  end
  charge_rate(rate, spent)
  write_rate(settings, rate, is_behind)
  return unpaid_wait or spent == units and ms_until(1) or nil
end
