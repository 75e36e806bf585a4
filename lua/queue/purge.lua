#!lua flags=allow-oom
-- Deletes a slice of all jobs of the queue, in every state. The last slice also deletes unique keys, the wake marker and
-- the sweep's memory. Counters, fences, a pause and the schedules stay. removed_total counts the waiting and running ids,
-- even without a hash. The announcements of workers are deleted too if no worker was seen recently. Otherwise they get an
-- expiry, because a job of that worker's next claim may outlive it. The worker's next announcement removes the expiry.
-- Transition: purge
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most jobs to delete in this call
-- ARGV[2] how long ago a worker may have been seen and still counts, in ms
-- ARGV[3] how long a silent worker is remembered, in ms
-- ARGV[4] the visibility timeout in ms, unless workers announced a longer one; twice that after the last possible claim
--   it has been reclaimed
-- Returns how many were deleted, and 1 if more may be left. Repeated: the next slice.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/retention/announced_queue_limits
local limit, seen = tonumber(ARGV[1]), tonumber(ARGV[2])
local visibility = math.max(announced.visibility or 0, tonumber(ARGV[4]))
local stay = string.format('%d', tonumber(ARGV[3]) + 2 * visibility)
local looked, deleted = 0, 0

--@include lib/group/place
local has_groups = redis.call('HEXISTS', settings, 'has_groups') == 1

-- In the same step as the job, so that an interrupted purge leaves neither a used slot nor a hold.
local function leave_group(id)
  local group = redis.pcall('HGET', job .. id, 'group')
  end_hold_of(id)
  if type(group) == 'string' then
    free_slot(group, id)
  end
end

-- A dead letter is in two places, and an id in a history may have no hash. So only deleted hashes count.
local function delete(ids, step)
  for i = 1, #ids, step do
    if has_groups then
      leave_group(ids[i])
    end
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

-- Settings, pauses and rests of groups stay, and what their rates have spent, as those of the queue do.
local function empty_groups()
  for _, group in ipairs(redis.call('ZRANGE', group_keys.depths, 0, 99)) do
    empty_set(groups .. 'waiting:' .. group)
    if looked < limit then
      redis.call('UNLINK', groups .. 'running:' .. group) -- claims is empty, so no job has these slots
    end
    touch(group)
  end
  place_groups(true)
  if looked < limit and redis.call('EXISTS', group_keys.depths) == 0 then
    redis.call('UNLINK', group_keys.turns, group_keys.finishes, group_keys.heads)
    redis.call('HDEL', group_keys.settings, 'waiting', 'virtual_time', 'review_cursor')
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
if has_groups and looked < limit then
  for _, id in ipairs(redis.call('HRANDFIELD', groups .. 'holds', limit)) do
    end_hold_of(id) -- the job of this hold was in no other place
  end
end
place_groups(true)
if removed > 0 then
  redis.pcall('HINCRBY', stats, 'removed_total', removed) -- the doctor reports a counter that is not a number
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
