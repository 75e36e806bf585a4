#!lua flags=no-writes,allow-oom
-- Lists batches of this queue: the unfinished ones, the oldest first, or the ones that ended within the last week.
-- It looks at 10,000 unfinished ones at most. These are the ones that the sweep checks next.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most to return
-- ARGV[2] '1' for ended ones, the last first; '0' for unfinished ones
-- Returns, for each: its id, the number of open members, then the fields that lua/batch/status lists. Repeated: reads
--   again.
--@include lib/core/keys
--@include lib/batch/read_batch
--@include lib/core/is_less
local most, ended, most_looked_at = tonumber(ARGV[1]), ARGV[2] == '1', 10000

-- Returns the oldest ids by age, because their order in the set is that of the next checks.
local function unfinished()
  local ids, created, times, oldest = redis.call('ZRANGE', batches, 0, most_looked_at - 1), {}, {}, {}
  for i, id in ipairs(ids) do
    times[i] = tonumber(redis.call('HGET', batch_record .. id, 'created_at_ms') or nil) or math.huge
    created[id] = times[i]
  end
  table.sort(times) -- numbers first: a comparison in Lua of all ids takes ten times as long
  for _, id in ipairs(ids) do
    oldest[#oldest + 1] = created[id] <= (times[most] or math.huge) and id or nil
  end
  table.sort(oldest, function(one, other)
    return created[one] < created[other] or created[one] == created[other] and is_less(one, other)
  end)
  return oldest
end

local ids, reply = ended and redis.call('ZRANGE', batches .. '_ended', 0, most - 1, 'REV') or unfinished(), {}
for i = 1, math.min(most, #ids) do
  local found = read_batch(ids[i])
  if found and (found[6] or not ended) then
    reply[#reply + 1] = { ids[i], unpack(found, 1, 17) }
  end
end
return reply
