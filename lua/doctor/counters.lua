#!lua flags=allow-oom
-- Compares the counters with the jobs. Each must be a whole number, and at least the number of jobs in a bounded
-- sample. A repair sets them to that number. In a queue that only this library uses, the counters are compared with
-- each other too. Each added job must wait, run or have a counted end. Each end of a claim must have its own fence. An
-- imbalance is reported and never repaired, because the wrong counter is unknown. The jobs that wait in groups are counted apart.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2] how many jobs of each place to read
-- ARGV[3] '1' if only this library uses the queue
-- Returns, for each fault: counter, found, expected, 1 if it was repaired, else 0. Repeated: checks again.
--@include lib/core/keys
--@include lib/doctor/counter_minimums
--@include lib/doctor/counter_balance
local repairing, exclusive = ARGV[1] == '1', ARGV[3] == '1'
local least, counted, wrong, reply = counter_minimums(tonumber(ARGV[2])), {}, 0, {}
local pairs_of_stats = redis.call('HGETALL', stats)
for i = 1, #pairs_of_stats, 2 do
  counted[pairs_of_stats[i]] = pairs_of_stats[i + 1]
end

local function report(counter, found, expected, repaired)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = counter, found, expected, repaired and 1 or 0
end

for counter in pairs(least) do
  counted[counter] = counted[counter] or '0'
end
for counter, value in pairs(counted) do
  local number = string.match(value, '^%d+$') and tonumber(value)
  local floor = least[counter] or 0
  if not number or number < floor then
    wrong = wrong + 1
    if repairing then
      redis.call('HSET', stats, counter, string.format('%d', floor))
    end
    report(counter, value, 'a whole number from ' .. floor, repairing)
  else
    counted[counter] = number
  end
end
-- Compares the count of the jobs that wait in groups with the depths of the groups, up to a bound. The doctor has checked
-- these before.
local function check_waiting()
  local depths = redis.call('ZRANGE', groups .. 'depths', 0, 9999, 'WITHSCORES')
  if #depths < 20000 then
    local sum = 0
    for i = 2, #depths, 2 do
      sum = sum + tonumber(depths[i])
    end
    local waiting = redis.call('HGET', groups .. 'settings', 'waiting')
    if (tonumber(waiting or nil) or 0) ~= sum then
      report('waiting of groups:settings', waiting or 'none', string.format('%d, the jobs that wait in groups', sum), repairing)
      if repairing then
        redis.call('HSET', groups .. 'settings', 'waiting', string.format('%d', sum))
      end
    end
  end
end
check_waiting()
if exclusive and wrong == 0 then
  for _, fault in ipairs(counter_imbalances(counted)) do
    report(fault.counters, fault.found, fault.expected)
  end
end
return reply
