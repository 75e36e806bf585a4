#!lua flags=allow-oom
-- Deletes a slice of the old jobs of one place. Their age counts from their end (completed, failed, cancelled), from
-- when they became claimable (pending, prioritized), or from their enqueue (scheduled). A key that is held for a time
-- outlives a job that has ended; with one that waits it goes, since nothing came of it, and removed_total counts it.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] completed, failed, cancelled, pending, prioritized, grouped (those that
--   wait in groups) or scheduled; ARGV[2] the least age in ms
-- ARGV[3] the most jobs to look at in this call; ARGV[4] how many to pass over, as the last call said
-- Returns how many were deleted, how many the next call passes over, or -1 when no more are old. Repeated: goes on.
--@include lib/core/keys
--@include lib/core/clock
local place, limit, passed = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local latest = now - tonumber(ARGV[2])
local deleted = 0
local waits = place == 'pending' or place == 'prioritized' or place == 'scheduled' or place == 'grouped'

--@include lib/batch/job_ended
--@include lib/group/place
--@include lib/retention/delete_old
--@include lib/group/clean
--@include lib/retention/trim_dead_letters

-- The oldest is last. An id whose hash is gone, or is in use again (also where it has ended again, and stands nearer to
-- the front too), only leaves the list.
local function clean_history(list, field)
  for _ = 1, limit do
    local id = redis.call('LINDEX', list, -1)
    local mine = id and redis.call('HGET', job .. id, 'status') == place
    local old = mine and is_old(id, field)
    if not id or mine and not old and redis.call('LPOS', list, id) == redis.call('LLEN', list) - 1 then
      return -1
    end
    redis.call('RPOP', list)
    if old then
      delete(id)
    end
  end
  return 0
end

local function clean_dead_letters()
  local old = redis.call('ZRANGE', dead, '-inf', latest, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(old) do
    redis.call('ZREM', dead, id)
    redis.call('LREM', failed, 1, id)
    leave_group(id)
    delete(id)
  end
  return #old == limit and 0 or -1
end

local function clean_set(set, ...)
  local ids = redis.call('ZRANGE', set, passed, passed + limit - 1)
  for _, id in ipairs(ids) do
    if is_old(id, ...) then
      leave_group(id)
      redis.call('ZREM', set, id)
      delete(id)
    end
  end
  return #ids == limit and passed + #ids - deleted or -1
end

-- The front is at the right. What was given back stands before older jobs, so the young are passed over; they are few as
-- a rule, and to take an old id from behind them is O(how many they are).
local function clean_line()
  local ids = redis.call('LRANGE', pending, -passed - limit, -passed - 1)
  for i = #ids, 1, -1 do
    if is_old(ids[i], 'ready_at_ms', 'enqueued_at_ms') then
      redis.call('LREM', pending, -1, ids[i])
      delete(ids[i])
    end
  end
  return #ids == limit and passed + #ids - deleted or -1
end

-- Group by group, by the age of their heads; passed are groups. One whose first jobs are all young is passed over.
local function clean_groups()
  local name = redis.call('ZRANGE', groups .. 'heads', passed, passed)[1]
  if not name then
    return -1
  end
  clean_group(name, limit)
  place_groups()
  return deleted > 0 and passed or passed + 1
end

local cleaners = {
  grouped = clean_groups,
  completed = function() return clean_history(completed, 'completed_at_ms') end,
  cancelled = function() return clean_history(cancelled, 'cancelled_at_ms') end,
  failed = clean_dead_letters,
  pending = clean_line,
  prioritized = function() return clean_set(prioritized, 'ready_at_ms', 'enqueued_at_ms') end,
  scheduled = function() return clean_set(scheduled, 'enqueued_at_ms') end,
}
local passed_over = cleaners[place]()
place_groups()
if waits and deleted > 0 then
  redis.pcall('HINCRBY', stats, 'removed_total', deleted) -- one that is no number is for the doctor to tell
end
return { deleted, passed_over }
