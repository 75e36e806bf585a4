#!lua flags=allow-oom
-- Deletes a slice of all jobs of the queue, in every state; with the last slice also what only belongs to jobs: unique
-- keys, the wake marker, the sweep's memory. Counters, fences, a pause and the schedules stay. The ids that wait or run are
-- counted in removed_total, also where their hash is gone.
-- What the workers announced goes too where none was seen of late. While one may live it stays, since a job that it claims
-- next may outlive it; but with an end, which the worker's next announcement takes away.
-- Transition: purge
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most jobs to delete in this call; ARGV[2] how long ago a worker may have been seen and still counts, in ms
-- ARGV[3] how long a silent worker is remembered, in ms; ARGV[4] the visibility timeout in ms, where the workers
--   announced no longer one: twice as long after the last claim that may be made it has been taken back
-- Returns how many were deleted, and 1 when more may be left. Repeated: the next slice.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/retention/announced_queue_limits
local limit, seen = tonumber(ARGV[1]), tonumber(ARGV[2])
local visibility = math.max(announced.visibility or 0, tonumber(ARGV[4]))
local stay = string.format('%d', tonumber(ARGV[3]) + 2 * visibility)
local looked, deleted = 0, 0

-- A dead letter stands in two places, and the hash of an id in a history may be gone: only what is deleted counts.
local function delete(ids, step)
  for i = 1, #ids, step do
    deleted = deleted + redis.call('UNLINK', job .. ids[i])
    looked = looked + 1
  end
end

local function empty_list(list)
  if looked < limit then
    delete(redis.call('RPOP', list, limit - looked) or {}, 1)
  end
end

local function empty_set(set)
  if looked < limit then
    delete(redis.call('ZPOPMIN', set, limit - looked), 2)
  end
end

-- Settings and pauses of groups stay, as those of the queue do.
local function empty_groups()
  for _, group in ipairs(redis.call('ZRANGE', groups .. 'depths', 0, 99)) do
    empty_set(groups .. 'waiting:' .. group)
    if looked < limit then
      redis.call('UNLINK', groups .. 'running:' .. group)
      redis.call('HDEL', groups .. 'state:' .. group, 'hold', 'rests_until_ms', 'rate_tat_us')
      redis.call('ZREM', groups .. 'depths', group)
    end
  end
  if looked < limit and redis.call('EXISTS', groups .. 'depths') == 0 then
    redis.call('UNLINK', groups .. 'turns', groups .. 'gated', groups .. 'finishes', groups .. 'heads')
    redis.call('HDEL', groups .. 'settings', 'waiting', 'virtual_time', 'review_cursor')
  end
end

empty_list(pending)
empty_list(processing)
empty_set(prioritized)
empty_set(scheduled)
empty_set(claims)
empty_groups()
local removed = looked -- these had not ended
empty_list(completed)
empty_list(failed)
empty_list(cancelled)
empty_set(dead)
if removed > 0 then
  redis.pcall('HINCRBY', stats, 'removed_total', removed) -- one that is no number is for the doctor to tell
end
if looked < limit then
  redis.call('UNLINK', unique, unique_expiries, wake, sweep, foreign_claims)
  if redis.call('ZCOUNT', workers, now - seen, '+inf') == 0 then
    redis.call('UNLINK', workers, handler_limits, retention, names)
  else
    for _, key in ipairs({ workers, handler_limits, retention, names }) do
      redis.call('PEXPIRE', key, stay)
    end
  end
end
return { deleted, looked < limit and redis.call('EXISTS', groups .. 'depths') == 0 and 0 or 1 }
