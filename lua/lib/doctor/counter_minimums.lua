-- counter_minimums(most): what each counter must be at least, by the jobs that stand for it, of each place so many. What clients of
-- the pattern did was never increment, so that only jobs count whose hash shows that it was done here. Needs: keys.

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

-- Of the deepest groups, a hundred at most, until so many are found.
local function grouped_ids(last)
  local ids = {}
  for _, name in ipairs(redis.call('ZRANGE', groups .. 'depths', 0, 99, 'REV')) do
    if #ids <= last then
      for _, id in ipairs(redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, last - #ids)) do
        ids[#ids + 1] = id
      end
    end
  end
  return ids
end

-- A job that a client of the pattern enqueued is given a name, and its fence, when it is claimed here.
local function enqueued_here(last)
  local waiting = 0
  for _, ids in ipairs({ redis.call('LRANGE', pending, 0, last), redis.call('ZRANGE', prioritized, 0, last),
    redis.call('ZRANGE', scheduled, 0, last), grouped_ids(last) }) do
    waiting = waiting + count(ids, { 'name', 'fence' }, function(name, fence) return name and not fence end)
  end
  return waiting
end

local function completed_here(last)
  return count(redis.call('LRANGE', completed, 0, last), { 'status', 'fence', 'claim_token' },
    function(status, fence, token) return status == 'completed' and fence and token == '' end)
end

-- What a client of the pattern failed is adopted later than it failed.
local function failed_here(last)
  return count(redis.call('ZRANGE', dead, 0, last, 'REV'), { 'failed_at_ms', 'last_error_at_ms' },
    function(failed_at, error_at) return failed_at and failed_at == error_at end)
end

local function counter_minimums(most)
  return { enqueued_total = enqueued_here(most - 1), completed_total = completed_here(most - 1),
    failed_total = failed_here(most - 1), cancelled_total = redis.call('LLEN', cancelled) }
end
