#!lua flags=allow-oom
-- Leases permits of a limit to a worker, for a claim of one of its queues. It charges the rates. Queues that wait take
-- turns: each gets an equal part of what is left, the first in line first. One that does not come is passed over.
-- Transition: none
-- KEYS[1] limit    hash
-- KEYS[2] permits  sorted set, score = when the permit ends in ms
-- KEYS[3] waiting  sorted set, queues that wait, score = their turn
-- KEYS[4] seen     sorted set, the same queues, score = until when each is waited for in ms
-- KEYS[5] rates    prefix of the rates, each a hash
-- ARGV[1] queue, as its keys spell it
-- ARGV[2] worker
-- ARGV[3] token of the claim
-- ARGV[4] count, at most 500
-- ARGV[5] how long a permit lasts unless it is extended, in ms
-- ARGV[6] '1' if the caller has values to declare, else ''
-- ARGV[7] what each permit costs of the rates, from 1
-- ARGV[8] the least that it may cost, if the jobs of the queue have costs of their own, else ''. While the rates have less than the
--   usual cost, a permit costs what they have, unless the queue waits for more. 0: the job that it waited for has been claimed
-- ARGV[9] for the store of a key: the values of its limit, as lib/shared_limit/write has them, else ''. They apply to the key, unless
--   others were set for it. A queue is then waited for until its group has rested
-- Returns how many were leased, the ms until the next may be (nil if only the end of a job, or time that another worker
--   keeps, lets one start; of a key for how long the group rests), why there are no more, the version of the values, the smallest burst if the cost is above it or
--   '', what each permit cost, then the queues to wake.
--   why: '' if there are as many as asked for; undeclared, paused, rests, slots, rate, or turn if others are first
-- Repeated with the same token: the same number, and it charges nothing. If jobs have costs of their own, the cost is the least
--   that each permit may have cost. Without a permit it asks again.
local limit, permits, waiting, seen, rates = unpack(KEYS)
local queue, worker, count, life, cost = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local holder = queue .. '\t' .. worker .. '\t' .. ARGV[3] .. '\t'
local longest_absence_ms, longest_rest_ms, slot_rest_ms = 2500, 30000, 5000
--@include lib/core/clock
--@include lib/shared_limit/key
if ARGV[6] == '1' and redis.call('HEXISTS', limit, 'configured') == 0 then
  return { 0, false, 'undeclared', '0', '', cost }
end
if is_key and redis.call('HGET', limit, 'configured') ~= ARGV[9] then
--@include lib/shared_limit/write
  redis.call('HSET', limit, 'configured', ARGV[9])
  if redis.call('HEXISTS', limit, 'set') == 0 then
    write_configured()
  end
end
--@include lib/shared_limit/state
local leased = 0
while leased < count and redis.call('ZSCORE', permits, holder .. (leased + 1)) do
  leased = leased + 1
end

-- Returns the smallest burst below a cost, or ''. Such a job counts as the burst, so its rate is exceeded. The worker warns of it.
local function burst_below(units)
  local burst = math.huge
  for _, each in ipairs(all_rates) do
    burst = math.min(burst, each[2].burst)
  end
  return burst < units and string.format('%.0f', burst) or ''
end

if leased > 0 then
  cost = ARGV[8] == '' and cost or math.max(1, tonumber(ARGV[8])) -- it may have charged more, and no less
  return { leased, false, '', version, burst_below(cost), cost }
end
if ARGV[8] ~= '' then
  local units = math.huge
  for _, each in ipairs(all_rates) do
    units = math.min(units, starts_now(each[2]))
  end
  -- Another worker of the queue may have met a job that costs more. Fewer units would not start it.
  local least = tonumber(ARGV[8])
  local awaited = least > 0 and tonumber(redis.call('HGET', limit, 'cost:' .. queue) or nil) or 1
  cost = math.max(least, awaited, math.min(cost, units))
end

local short = burst_below(cost)
local left = (paused or rests_until > now) and 0 or starts_left(cost)
local ahead, contenders, is_waiting = #line, #line + 1, false
for i, name in ipairs(line) do
  if name == queue then
    ahead, contenders, is_waiting = i - 1, #line, true
  end
end
local share = math.ceil(left / contenders)
local granted = left == math.huge and count or math.max(0, math.min(count, share, left - ahead * share))

-- Returns what a job of each queue ahead costs, the first in line first.
local function costs_ahead()
  local fields = {}
  for i = 1, ahead do
    fields[i] = 'cost:' .. line[i]
  end
  local costs = ahead > 0 and redis.call('HMGET', limit, unpack(fields)) or {}
  for i = 1, ahead do
    costs[i] = tonumber(costs[i] or nil) or 1
  end
  return costs
end
local costs = costs_ahead()
-- The first in line waits for its rate alone. It keeps that time itself, so a lease does not call it.
local first_awaits_rate = ahead > 0 and costs[1] > 1 and starts_left(costs[1]) < 1

-- Returns how many permits leave a job of each queue ahead its start, if its jobs cost more than one.
local function beside_costly()
  local kept, most = 0, math.huge
  for _, dear in ipairs(costs) do
    kept = kept + (dear > 1 and dear or 0)
  end
  for _, each in ipairs(kept > 0 and all_rates or {}) do
    most = math.min(most, math.floor((starts_now(each[2]) - cost_of(kept, each[2])) / cost_of(cost, each[2])))
  end
  return math.max(0, most)
end
granted = math.min(granted, beside_costly())

local function add_permits()
  local added = {}
  for i = 1, granted do
    added[#added + 1], added[#added + 2] = string.format('%.0f', now + life), holder .. i
  end
  redis.call('ZADD', permits, unpack(added))
  if life > longest_ms then
    redis.call('HSET', limit, 'longest_ms', string.format('%.0f', life))
  end
end

-- Returns why no more permits are leased, and the ms until the next may be.
local function refusal()
  if paused then
    return 'paused', paused_until and paused_until - now
  elseif rests_until > now then
    return 'rests', rests_until - now
  elseif granted < math.min(count, left) and not first_awaits_rate then
    return 'turn', longest_pass_ms
  elseif free - granted < 1 then
    return 'slots', nil
  end
  local wait = 1
  for _, each in ipairs(all_rates) do
    local needed = cost_of(cost, each[2])
    for _, dear in ipairs(costs) do
      needed = needed + cost_of(dear, each[2])
    end
    wait = math.max(wait, math.ceil((opens_us(each[2], needed) - now_us) / 1000))
  end
  return 'rate', wait
end

-- Returns whether this worker keeps the time of a rate for its queue. So the others do not ask at that time too.
local function keeps_time(wait)
  local field = 'keeper:' .. queue
  local at, by = string.match(redis.call('HGET', limit, field) or '', '^(%d+) (.*)$')
  at = tonumber(at) or 0
  if by and by ~= worker and at > now and at <= now + wait + 10 then
    return false
  end
  redis.call('HSET', limit, field, string.format('%.0f %s', now + wait, worker))
  return true
end

if granted > 0 then
  add_permits()
end
for _, each in ipairs(all_rates) do
  local key, rate = unpack(each)
  if granted > 0 then
    charge_rate(rate, granted * cost_of(cost, rate))
    write_rate(key, rate, (granted < count or #line > 0) or nil)
  elseif rate.is_ahead then
    write_rate(key, rate)
  end
end
if granted == count then
  if is_waiting then
    leave_line(queue)
  end
  keep_key(life)
  return { granted, false, '', version, short, cost }
end

local why, wait = refusal()
if granted > 0 or not is_waiting then
  local moves = granted > 0 and 'CH' or 'NX' -- a queue behind the first hundred keeps its place
  redis.call('ZADD', waiting, moves, redis.call('HINCRBY', limit, 'turn', 1), queue)
end
if cost > 1 then
  redis.call('HSET', limit, 'cost:' .. queue, cost)
elseif is_waiting then
  redis.call('HDEL', limit, 'cost:' .. queue) -- a deploy may have lowered it
end
if is_key then
  wait = math.min(wait or why == 'slots' and slot_rest_ms or longest_rest_ms, longest_rest_ms)
elseif why == 'rate' and granted == 0 and not keeps_time(wait) then
  wait = nil
end
local reply = { granted, wait or false, why, version, short, cost }
if why == 'turn' then
  for _, name in ipairs(call_first(left)) do
    if name ~= queue then
      reply[#reply + 1] = name
    end
  end
end
-- This queue has just asked, so its time is written after the calls, which shorten it.
redis.call('ZADD', seen, string.format('%.0f', now + longest_absence_ms + (is_key and wait or 0)), queue)
keep_key(life)
return reply
