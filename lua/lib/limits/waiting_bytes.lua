-- Estimates the bytes of waiting payload, as stored, from fifty jobs of each place, spread over its length. Up to fifty
--   jobs are exact. No counter exists, so a queue without such a bound pays nothing, and no count can be wrong.
-- waiting_sizes(): returns how many jobs wait in each place.
-- waiting_bytes(sizes): returns their bytes.
-- waiting_bytes_of(group): returns the bytes of its line.
-- Needs: groups, job, pending, prioritized, scheduled, lib/group/state.
local sampled = 50

local function bytes_of(id)
  return id and tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0
end

-- Estimates the bytes of a list. id_at: returns the id at an index.
local function estimate(size, id_at)
  local looks, sum = math.min(size, sampled), 0
  for i = 0, looks - 1 do
    sum = sum + bytes_of(id_at(math.floor(i * size / looks)))
  end
  return looks > 0 and sum * size / looks or 0
end

local function in_set(set)
  return function(index) return redis.call('ZRANGE', set, index, index)[1] end
end

local function waiting_bytes_of(group)
  local waiting = groups .. 'waiting:' .. group
  return estimate(redis.call('ZCARD', waiting), in_set(waiting))
end

-- Samples the deepest groups, fifty at most, and assumes that the others are alike.
local function bytes_in_groups(size)
  local looked, bytes = 0, 0
  for _, group in ipairs(redis.call('ZRANGE', group_keys.depths, 0, size > 0 and sampled - 1 or -1, 'REV')) do
    if looked < 4 * sampled then
      looked = looked + redis.call('ZCARD', groups .. 'waiting:' .. group)
      bytes = bytes + waiting_bytes_of(group)
    end
  end
  return looked > 0 and bytes * size / looked or 0
end

local function waiting_sizes()
  return { pending = redis.call('LLEN', pending), prioritized = redis.call('ZCARD', prioritized),
    scheduled = redis.call('ZCARD', scheduled), grouped = tonumber(redis.call('HGET', group_keys.settings, 'waiting') or nil) or 0 }
end

local function waiting_bytes(sizes)
  return estimate(sizes.pending, function(index) return redis.call('LINDEX', pending, index) end)
    + estimate(sizes.prioritized, in_set(prioritized)) + estimate(sizes.scheduled, in_set(scheduled)) + bytes_in_groups(sizes.grouped)
end
