#!lua flags=allow-oom
-- Holds the counters against what can be seen: each is a whole number, and no lower than the jobs that stand for it, as far
-- as a bounded look goes. Mended they are set to what can be seen. What clients of the pattern did was never counted, so
-- that only jobs count whose hash shows that it was done here.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] '1' to mend; ARGV[2] how many jobs of each place to look at
-- Returns, for each fault: counter, found, expected. Repeated: looks again.
--@include lib/keys
local most = tonumber(ARGV[2]) - 1

-- How many of these jobs, each of which stands there once, are as `is_ours` says of the fields.
local function count(ids, fields, is_ours)
  local seen, number = {}, 0
  for _, id in ipairs(ids) do
    local hash = redis.pcall('HMGET', job .. id, unpack(fields))
    if not seen[id] and not hash.err and is_ours(unpack(hash)) then
      seen[id], number = true, number + 1
    end
  end
  return number
end

-- A job that a client of the pattern enqueued is given a name, and its fence, when it is claimed here.
local function enqueued_here()
  local waiting = 0
  for _, ids in ipairs({ redis.call('LRANGE', pending, 0, most), redis.call('ZRANGE', prioritized, 0, most),
    redis.call('ZRANGE', scheduled, 0, most) }) do
    waiting = waiting + count(ids, { 'name', 'fence' }, function(name, fence) return name and not fence end)
  end
  return waiting
end

local function completed_here()
  return count(redis.call('LRANGE', completed, 0, most), { 'status', 'fence', 'claim_token' },
    function(status, fence, token) return status == 'completed' and fence and token == '' end)
end

-- What a client of the pattern failed is adopted later than it failed.
local function failed_here()
  return count(redis.call('ZRANGE', dead, 0, most, 'REV'), { 'failed_at_ms', 'last_error_at_ms' },
    function(failed_at, error_at) return failed_at and failed_at == error_at end)
end

local least = { enqueued_total = enqueued_here(), completed_total = completed_here(), failed_total = failed_here(),
  cancelled_total = redis.call('LLEN', cancelled) }
local held = { enqueued_total = '0', completed_total = '0', failed_total = '0', cancelled_total = '0' }
local pairs_of_stats = redis.call('HGETALL', stats)
for i = 1, #pairs_of_stats, 2 do
  held[pairs_of_stats[i]] = pairs_of_stats[i + 1]
end
local answer = {}
for counter, value in pairs(held) do
  local number = string.match(value, '^%d+$') and tonumber(value)
  local floor = least[counter] or 0
  if not number or number < floor then
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = counter, value, 'a whole number from ' .. floor
    if ARGV[1] == '1' then
      redis.call('HSET', stats, counter, floor)
    end
  end
end
return answer
