-- A rate in whole numbers, see docs/internals/rates.md. GCRA keeps one instant, the theoretical arrival time. A start moves
--   it on by one interval, which is the period over the limit. A burst of n lets it be n intervals ahead of now.
-- An instant is in whole microseconds of the server, and a part in whole `units` of a microsecond. So no sum is rounded.
-- read_rate(limit, period, burst, us, part, lateness): returns the rate of these fields; nil without a limit. It is_ahead
--   if only a clock that was ahead can have made its instant. Then that is bounded by now.
-- starts_now(rate): returns how many units may start now. opens_us(rate, count): returns when this many may start.
-- charge_rate(rate, count): moves the instant on. Moves it back if count is negative.
-- write_rate(key, rate, is_behind): writes it. is_behind: whether jobs are left waiting. Nil leaves that as it was
-- Needs: lib/core/now_us.
local function within(text, most)
  local number = tonumber(text or nil)
  return number and number >= 1 and math.floor(math.min(number, most)) or nil -- nan is not
end

-- Returns the instant that is `count` intervals later. Each product stays below 2^53.
local function later(rate, us, part, count)
  part = part + count * rate.rest
  return us + count * rate.whole + math.floor(part / rate.units), part % rate.units
end

local function is_later(us, part, other_us, other_part)
  return us > other_us or us == other_us and part > other_part
end

-- Sets how many starts are made up at once after a late one. As many are missing from each period, so that none sees more
-- than limit + burst.
local function make_up(rate, late)
  if late ~= rate.late then
    rate.late, rate.units = late, rate.limit - late
    rate.whole, rate.rest = math.floor(rate.period_us / rate.units), rate.period_us % rate.units
  end
end

-- Learns from a start that is late by this many us while jobs wait. What is made up follows the latest start of a period.
local function learn_lateness(rate, late_us, most)
  local late = math.max(0, math.min(math.ceil(late_us * rate.units / rate.period_us - 0.75), most))
  if late > rate.late then
    rate.seen, rate.since_us = late, now_us
    make_up(rate, late)
  elseif now_us - rate.since_us >= rate.period_us then
    local seen = math.max(rate.seen, late)
    rate.seen, rate.since_us = late, now_us
    make_up(rate, seen)
  else
    rate.seen = math.max(rate.seen, late)
  end
end

-- Returns the earliest instant, from now. No idle time earns more than the burst. A late start is made up.
local function earliest(rate)
  local us, part = later(rate, now_us, 0, -rate.late - 1)
  us = us + math.max(math.floor(rate.whole / 4) + 1, rate.whole - 1000000)
  if rate.was_behind and us < now_us then
    return us, part
  end
  return now_us, 0
end

local function read_rate(limit, period, burst, us, part, lateness)
  limit, period, burst = within(limit, 1e6), within(period, 86400000), within(burst, 1e6) or 1
  if not (limit and period) then
    return nil
  end
  local behind, late, seen, since = string.match(lateness or '', '^([01]) (%d+) (%d+) (%d+)$')
  local rate = { limit = limit, period_us = 1000 * period, was_behind = behind == '1', seen = tonumber(seen) or 0,
    since_us = math.min(tonumber(since) or now_us, now_us) }
  -- A twentieth of the period, at most 100 ms. In a short period up to 5 ms.
  local most_us = math.max(math.min(rate.period_us / 20, 100000), math.min(rate.period_us / 2, 5000))
  local most = math.floor(limit * most_us / rate.period_us)
  make_up(rate, math.min(tonumber(late) or 0, most))
  us, part = math.floor(tonumber(us or nil) or 0), math.floor(tonumber(part or nil) or 0)
  local units = rate.units
  learn_lateness(rate, rate.was_behind and us < now_us and now_us - us or 0, most)
  if rate.units ~= units or not (part >= 0 and part < units) then -- a part of other units
    us, part = us + 1, 0
  end
  rate.burst = math.min(burst, math.floor(4e15 / (rate.whole + 1))) -- 126 years
  local first_us, first_part = earliest(rate)
  if us > now_us + rate.burst * period * 1000 / (limit - most) + 1 then
    rate.us, rate.part = later(rate, now_us, 0, rate.burst)
    rate.is_ahead = true
  elseif is_later(us, part, first_us, first_part) then
    rate.us, rate.part = us, part
  else
    rate.us, rate.part = first_us, first_part
  end
  return rate
end

local function opens_us(rate, count)
  local us, part = later(rate, rate.us, rate.part, count - rate.burst)
  return part > 0 and us + 1 or us
end

local function starts_now(rate)
  local estimate = math.floor((now_us - rate.us) * rate.units / rate.period_us) + rate.burst + 1
  local count = math.max(0, math.min(estimate, rate.burst + rate.late + 1))
  while count > 0 and opens_us(rate, count) > now_us do
    count = count - 1
  end
  return count
end

local function charge_rate(rate, count)
  rate.us, rate.part = later(rate, rate.us, rate.part, count)
end

local function write_rate(key, rate, is_behind)
  if is_behind == nil then
    is_behind = rate.was_behind
  end
  redis.call('HSET', key, 'rate_tat_us', string.format('%.0f', rate.us), 'rate_part', string.format('%d', rate.part),
    'rate_late', string.format('%d %d %d %.0f', is_behind and 1 or 0, rate.late, rate.seen, rate.since_us))
end
