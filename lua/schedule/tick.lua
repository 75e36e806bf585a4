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
--@include lib/unique/owner
--@include lib/enqueue/options
--@include lib/core/write_job
--@include lib/enqueue/add_scheduled
--@include lib/enqueue/queue_settings
--@include lib/enqueue/check_keys
--@include lib/schedule/rest
--@include lib/schedule/runs
--@include lib/schedule/make_tick
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
  if is_current and next_due > now and next_due < due then
    set_due(id, key, next_due)
    reply = 'moved'
  elseif is_current and due <= now and next_due > due then
    redis.call('ZADD', schedule_due, next_due, id)
    local run
    reply, run = make_tick(id, due, key)
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
