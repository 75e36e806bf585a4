#!lua
-- Creates a schedule of a queue that moves at its new place. One that is there already stays, because newer code declared it.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] source   the name of the move
-- ARGV[2] fence    of this mover
-- ARGV[3] id
-- ARGV[4] due      its next due time in ms, or inf
-- ARGV[5..] fields and values
-- Returns stale and the larger fence of another mover, else created or existing.
-- Repeated: existing.
--@include lib/core/keys
--@include lib/core/clock
local source, fence, id, key = ARGV[1], ARGV[2], ARGV[3], schedule .. ARGV[3]
local once_fences = string.sub(sweep, 1, -6) .. 'once_fences'
--@include lib/once/begin_sending
if redis.call('EXISTS', key) == 1 and redis.call('HEXISTS', key, 'moved') == 0 then
  return 'existing'
end
redis.call('UNLINK', key)
for i = 5, #ARGV, 2 do
  redis.call('HSET', key, ARGV[i], ARGV[i + 1])
end
redis.call('HDEL', key, 'moved', 'rested_due_ms', 'declared_by', 'declared_until_ms')
if redis.call('HGET', key, 'source') == 'code' or redis.call('HEXISTS', key, 'ended_at_ms') == 1 then
  redis.call('ZADD', schedule_owners, now_text, id)
end
redis.call('ZADD', schedule_due, ARGV[4] == 'inf' and '+inf' or ARGV[4], id)
--@include lib/core/wake
return 'created'
