-- counter_imbalances(counters): returns contradictions between the counters of a queue that only this library uses, each
--   as counters, found, expected. counters: counter -> number.
-- Needs: lib/core/keys.
local comings, leavings = { 'enqueued', 'redriven', 'rerun' }, { 'completed', 'failed', 'cancelled', 'removed' }
local claim_ends = { 'completed', 'retried', 'released', 'reclaimed' }

local function total_of(counters, names)
  local sum, words = 0, {}
  for i, name in ipairs(names) do
    sum = sum + (counters[name .. '_total'] or 0)
    words[i] = name .. '_total'
  end
  return sum, table.concat(words, ' + ')
end

-- Counts waiting and running jobs.
local function unfinished()
  return redis.call('LLEN', pending) + redis.call('ZCARD', prioritized) + redis.call('ZCARD', scheduled)
    + redis.call('ZCARD', claims) + redis.call('LLEN', processing)
    + (tonumber(redis.call('HGET', groups .. 'settings', 'waiting') or nil) or 0)
end

local function counter_imbalances(counters)
  local faults = {}
  local function check(names, found, fits, expected)
    if not fits then
      faults[#faults + 1] = { counters = names, found = string.format('%d', found), expected = expected }
    end
  end
  local came, comings_words = total_of(counters, comings)
  local left, leavings_words = total_of(counters, leavings)
  local here = unfinished()
  check(comings_words, came, came == left + here, string.format('%d: %s, which are %d, and %d jobs that wait or run',
    left + here, leavings_words, left, here))
  -- An upper bound only, since more than claims draws from the sequence.
  local ended, claim_words = total_of(counters, claim_ends)
  local fences = tonumber(redis.pcall('GET', sequence) or 0) or 0
  check(claim_words, ended, ended <= fences, string.format('at most %d, the fences that were given out', fences))
  return faults
end
