#!lua flags=allow-oom
-- Holds the counters against what can be seen: each is a whole number, and no lower than the jobs that stand for it.
-- Mended they are set to what can be seen. What clients of the pattern did was never counted, and cannot be told apart.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] '1' to mend; ARGV[2] how many of the last completed jobs to look at
-- Returns, for each fault: counter, found, expected. Repeated: looks again.
--@include lib/keys
local function completed_here()
  local seen, count = {}, 0
  for _, id in ipairs(redis.call('LRANGE', completed, 0, tonumber(ARGV[2]) - 1)) do
    local hash = redis.pcall('HMGET', job .. id, 'status', 'fence', 'claim_token')
    if not seen[id] and not hash.err and hash[1] == 'completed' and hash[2] and hash[3] == '' then
      seen[id], count = true, count + 1
    end
  end
  return count
end

local least = { completed_total = completed_here(), cancelled_total = redis.call('LLEN', cancelled) }
local held = { completed_total = '0', cancelled_total = '0' }
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
