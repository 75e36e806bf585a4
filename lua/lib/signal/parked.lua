-- awaiting_signals: sorted set, jobs that are parked for a signal or a sleep; score = their due time in ms. See docs/internals/signals.md.
-- is_parked(id): returns whether a job with an open wait is parked. The entry of a job that was promoted has another score than
--   scheduled. A job that no time starts is parked without an entry too, as after a step that broke off.
-- leave_wait(id, waits): removes a job that leaves scheduled for good. waits: the field of its hash; nil for a job without any
-- Needs: lib/core/keys.
--@include lib/core/never
local awaiting_signals = awaiting .. '_signals'

local function is_parked(id)
  local due = redis.call('ZSCORE', scheduled, id)
  return due and (tonumber(due) == never_ms or due == redis.call('ZSCORE', awaiting_signals, id))
end

local function leave_wait(id, waits)
  if waits then
    redis.call('ZREM', awaiting_signals, id)
  end
end
