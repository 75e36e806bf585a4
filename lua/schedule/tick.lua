#!lua
-- Makes the due ticks of schedules. Each enqueues one job, @schedule:{schedule}:{due}, and sets the next due time, in
-- one step. So one of all the callers makes a tick, even if several saw it due. A late tick counts as missed: it is
-- made once or skipped, by the schedule's option. All due times in between make one tick. A due time that is later than
-- the next one from now comes from a clock that was ahead. It is moved to the next one.
-- Transition: tick
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each tick: id, due time in ms and version as the caller saw them, next due time in ms (+inf: none is left)
-- Returns for each: enqueued | kept | skipped (missed) | moved | lost.
--   kept: the last job of a schedule without overlap is unfinished
--   lost: made by another caller, changed, not due, not later than the last tick, over the limit of ticks, or with a
--     next due time that is not later
--   An error is returned, and not raised, if nothing was written because a key has a wrong type.
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
--@include lib/enqueue/queue_settings
--@include lib/enqueue/check_keys
--@include lib/schedule/rest
--@include lib/schedule/runs
-- Returns the due time for the id of its job. In a time that comes again after the clock was ahead, the next ms that no
-- job has.
local function time_in_id(id, due)
  for at = due, due + 99 do
    if redis.call('EXISTS', job .. '@schedule:' .. id .. ':' .. string.format('%d', at)) == 0 then
      return at
    end
  end
  return due
end

-- Returns what came of a tick, and its run.
local function make(id, due, key)
  local name, payload, options, on_missed, missed_after, last, ticks, limit, repeats_until = unpack(redis.call('HMGET', key,
    'name', 'payload', 'options', 'on_missed', 'missed_after_ms', 'last_tick_at_ms', 'ticks', 'tick_limit', 'repeats_until_ms'))
  if (tonumber(ticks) or 0) >= (tonumber(limit) or math.huge) then
    return 'lost'
  end
  -- A late change may restore an earlier due time. A last tick in the future comes from a clock that was wrong.
  last = tonumber(last or nil) or -math.huge
  if due <= last and last <= now then
    return 'lost'
  end
  if on_missed == 'skip' and now - due > tonumber(missed_after) then
    return 'skipped', string.format('%d', due)
  end
  repeats_until = math.max(last > now and last or 0, tonumber(repeats_until or nil) or 0)
  local is_repeated = due <= repeats_until
  local run = string.format('%d', is_repeated and time_in_id(id, due) or due)
  local verdict, made_id = add_scheduled('@schedule:' .. id .. ':' .. run, name, payload, options, id)
  redis.call('HSET', key, 'last_tick_at_ms', due, 'last_job', made_id)
  if is_repeated then
    redis.call('HSET', key, 'repeats_until_ms', repeats_until)
  end
  return verdict == 'kept' and 'kept' or 'enqueued', run
end

local asked = {}
for i = 1, #ARGV, 4 do
  local options = redis.pcall('HGET', schedule .. ARGV[i], 'options') -- of a broken schedule an error
  asked[i] = type(options) == 'string' and options ~= '' and cjson.decode(options)
end
local failure = check_keys(asked)
if failure then
  return failure
end
local replies, run_states = {}, { enqueued = 'pending', kept = 'kept', skipped = 'missed' }
for i = 1, #ARGV, 4 do
  local id, due, next_due, key = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3]), schedule .. ARGV[i]
  local score = tonumber(redis.call('ZSCORE', schedule_due, id) or nil)
  local version = read(key, 'version')[1]
  local reply = 'lost'
  local is_current = score == due and version == ARGV[i + 2]
  if is_current and due > now and next_due > now and next_due < due then
    set_due(id, key, next_due)
    reply = 'moved'
  elseif is_current and due <= now and next_due > due then
    redis.call('ZADD', schedule_due, next_due, id)
    local run
    reply, run = make(id, due, key)
    if run then
      note_run(id, key, run, run_states[reply])
      redis.call('HINCRBY', key, reply == 'enqueued' and 'ticks' or 'skipped', 1)
    end
    set_due(id, key, next_due)
  end
  replies[#replies + 1] = reply
end
place_groups()
return replies
