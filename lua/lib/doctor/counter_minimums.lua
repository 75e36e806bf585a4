-- counter_minimums(most): returns the minimum of each counter, by the jobs that prove it, up to `most` of each place.
--   Actions of the pattern's clients were never counted. So a job counts only if its hash shows an action of this
--   library.
-- Needs: lib/core/keys.

-- Returns how many of these distinct jobs have fields for which `is_ours` is true.
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

-- Reads the deepest groups, a hundred at most, until there are enough.
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

-- Counts jobs enqueued here. A client's job gets a name and its fence when it is claimed here.
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

-- Counts jobs that failed here. A failure of a client of the pattern is adopted later than it occurred.
local function failed_here(last)
  return count(redis.call('ZRANGE', dead, 0, last, 'REV'), { 'failed_at_ms', 'last_error_at_ms' },
    function(failed_at, error_at) return failed_at and failed_at == error_at end)
end

local function counter_minimums(most)
  return { enqueued_total = enqueued_here(most - 1), completed_total = completed_here(most - 1),
    failed_total = failed_here(most - 1), cancelled_total = redis.call('LLEN', cancelled) }
end
