#!lua
-- Copies ended jobs to the new place of a queue, each once: nothing -> completed or cancelled. The old place keeps its own.
-- Transition: move
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] place    completed, cancelled, or kept for a completed job whose record is kept until others have read it
-- ARGV[2..] for each job, the oldest first: its id, the rest of its lifetime in ms ('' for a kept one), the number of its fields and
--   values, then these
-- Returns the number of jobs that are new here.
-- Repeated: 0, as long as the records live.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/count
local place, at, added = ARGV[1], 2, 0
while at <= #ARGV do
  local id, left, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local status, moved = unpack(redis.call('HMGET', job .. id, 'status', 'moved'))
  if not status or moved then
    redis.call('UNLINK', job .. id)
    for i = at + 3, at + 2 + n, 1000 do
      redis.call('HSET', job .. id, unpack(ARGV, i, math.min(i + 999, at + 2 + n)))
    end
    local ended_as = redis.call('HGET', job .. id, 'status') == 'cancelled' and 'cancelled' or 'completed'
    if left == '' then
      redis.call('ZADD', kept_results, now_text, id)
    else
      redis.call('PEXPIRE', job .. id, left)
      redis.call('LPUSH', place == 'cancelled' and cancelled or completed, id)
    end
    count('enqueued_total', 1)
    count(ended_as .. '_total', 1)
    added = added + 1
  end
  at = at + 3 + n
end
return added
