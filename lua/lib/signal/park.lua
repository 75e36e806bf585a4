-- park(id, key, priority, group): parks a job whose claim has ended until parked_until. If that is now, the job goes to the
--   back of its line instead.
-- Needs: lib/core/clock, lib/place/requeue.
--@include lib/signal/parked
--@include lib/signal/parked_until
local function park(id, key, priority, group)
  local due = parked_until(key) or now
  if due <= now then
    to_back(id, priority, group)
    return
  end
  to_later(id, due)
  redis.call('ZADD', awaiting_signals, string.format('%d', due), id)
  if due == never_ms then
    redis.call('HDEL', key, 'due_at_ms')
  end
end
