-- make_tick(id, due, key): enqueues the job of a due tick. Returns enqueued | kept | skipped | lost, see lua/schedule/tick.
--   Also the run, except for lost: the time in the id of its job.
-- Needs: lib/core/clock, lib/core/keys, lib/enqueue/add_scheduled.

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

local function make_tick(id, due, key)
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
  redis.call('HSET', key, 'last_tick_at_ms', string.format('%d', due), 'last_job', made_id)
  if is_repeated then
    redis.call('HSET', key, 'repeats_until_ms', string.format('%d', repeats_until))
  end
  return verdict == 'kept' and 'kept' or 'enqueued', run
end
