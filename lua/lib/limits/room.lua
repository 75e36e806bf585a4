-- The limits of a queue, read once in a claim. They are fields of settings, so a queue without limits never comes here.
-- room_for(count): how many of count jobs may start now; ms until the next may, nil where time alone frees nothing.
-- charge(ids): takes what the jobs cost from the rate; jobs that cost more than is left are put back to the front.
-- The rate is GCRA: one number, the theoretical arrival time (tat) in microseconds of the server. A burst of n lets n jobs
-- start at once; then one starts every interval. An idle time earns no more than the burst, since tat is never below now.
-- Needs: job, pending, prioritized, claims, settings, now, time, most_bytes, full.
local max_running, interval, burst, tat, rests_until = unpack(redis.call('HMGET', settings, 'max_running',
  'rate_interval_us', 'rate_burst', 'rate_tat_us', 'rests_until_ms'))
max_running, interval, burst = tonumber(max_running or nil), tonumber(interval or nil), tonumber(burst or nil)
rests_until = tonumber(rests_until or nil) or 0
local now_us = tonumber(time[1]) * 1e6 + tonumber(time[2])
tat = math.max(tonumber(tat or nil) or 0, now_us)
local limited = max_running ~= nil or interval ~= nil or rests_until > now

-- Ms until so many units of the rate are there.
local function ms_until(units)
  return math.max(1, math.ceil((tat + units * interval - burst * interval - now_us) / 1000))
end

local function room_for(count)
  if rests_until > now then
    return 0, rests_until - now
  end
  if max_running then
    count = math.max(0, math.min(count, max_running - redis.call('ZCARD', claims)))
  end
  if not interval or count == 0 then
    return count, nil
  end
  local units = math.floor((now_us + burst * interval - tat) / interval + 1e-6)
  if units < 1 then
    return 0, ms_until(1)
  end
  return math.min(count, units), units <= count and ms_until(units + 1) or nil
end

local function put_back(ids, from)
  for i = #ids, from, -1 do
    local rank = redis.call('HGET', job .. ids[i], 'rank')
    if rank then
      redis.call('ZADD', prioritized, rank, ids[i])
    else
      redis.call('RPUSH', pending, ids[i])
    end
    ids[i] = nil
  end
end

-- What exceeds the bytes of the claim goes back before it is paid for.
local function leave_beyond_bytes(ids)
  local taken = 0
  for i, id in ipairs(ids) do
    taken = taken + (tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0)
    if taken > most_bytes and i > 1 then
      put_back(ids, i)
      full = true
      return
    end
  end
end

local function charge(ids)
  if not interval or #ids == 0 then
    return nil
  end
  leave_beyond_bytes(ids)
  local units, spent = math.floor((now_us + burst * interval - tat) / interval + 1e-6), 0
  local wait
  for i, id in ipairs(ids) do
    local asked = redis.pcall('HGET', job .. id, 'cost')
    local cost = math.min(type(asked) == 'string' and tonumber(asked) or 1, burst)
    if spent + cost > units then
      put_back(ids, i)
      wait = ms_until(spent + cost)
      break
    end
    spent = spent + cost
  end
  tat = tat + spent * interval
  redis.call('HSET', settings, 'rate_tat_us', string.format('%.0f', tat))
  return wait or ms_until(1)
end
