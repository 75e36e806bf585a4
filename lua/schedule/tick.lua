#!lua
-- Makes the due ticks of schedules. Each enqueues one job, @schedule:{schedule}:{due}, and sets the next due time, in
-- one step. So one of all the callers makes a tick, even if several saw it due. A late tick counts as missed: it is
-- made once or skipped, by the schedule's option. All due times in between make one tick.
-- Transition: tick
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each tick: id, due time in ms and version as the caller saw them, next due time in ms (+inf: none is left)
-- Returns for each: enqueued | kept | skipped (missed) | lost.
--   kept: the last job of a schedule without overlap is unfinished
--   lost: made by another caller, changed, not due, not later than the last tick, over the limit of ticks, or with a
--     next due time that is not later
-- Repeated: lost, and nothing changes.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/enqueue/unique
--@include lib/enqueue/options
--@include lib/core/write_job
--@include lib/enqueue/add_scheduled
--@include lib/schedule/rest
local function make(id, due, key)
  local name, payload, options, on_missed, missed_after, last, ticks, limit = unpack(redis.call('HMGET', key,
    'name', 'payload', 'options', 'on_missed', 'missed_after_ms', 'last_tick_at_ms', 'ticks', 'tick_limit'))
  if (tonumber(ticks) or 0) >= (tonumber(limit) or math.huge) then
    return 'lost'
  end
  -- A late change may restore an earlier due time. A last tick in the future comes from a clock that was wrong.
  if last and due <= tonumber(last) and tonumber(last) <= now then
    return 'lost'
  end
  if on_missed == 'skip' and now - due > tonumber(missed_after) then
    return 'skipped'
  end
  local job_id = '@schedule:' .. id .. ':' .. string.format('%d', due)
  local verdict, standing = add_scheduled(job_id, name, payload, options, id)
  redis.call('HSET', key, 'last_tick_at_ms', due, 'last_job', standing)
  return verdict == 'kept' and 'kept' or 'enqueued'
end

local replies = {}
for i = 1, #ARGV, 4 do
  local id, due, next_due, key = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3]), schedule .. ARGV[i]
  local score = tonumber(redis.call('ZSCORE', schedule_due, id) or nil)
  local version = read(key, 'version')[1]
  local reply = 'lost'
  if score == due and version == ARGV[i + 2] and due <= now and next_due > due then
    redis.call('ZADD', schedule_due, next_due, id)
    reply = make(id, due, key)
    if reply ~= 'lost' then
      redis.call('HINCRBY', key, reply == 'enqueued' and 'ticks' or 'skipped', 1)
    end
    set_due(id, key, next_due)
  end
  replies[#replies + 1] = reply
end
place_groups()
return replies
