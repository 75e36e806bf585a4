#!lua flags=allow-oom
-- Takes a schedule of a queue that moves. It is paused here, and its fields are kept for the new place.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] fence    of this mover
-- ARGV[2] id
-- Returns stale if another mover has begun, else taken, or gone: it does not exist, or has moved.
-- Repeated: gone.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/move/transit
local id, key = ARGV[2], schedule .. ARGV[2]
if is_overtaken(ARGV[1]) then
  return 'stale'
end
local fields = redis.call('HGETALL', key)
if #fields == 0 or redis.call('HEXISTS', key, 'moved') == 1 then
  return 'gone'
end
local due, rested = redis.call('ZSCORE', schedule_due, id) or 'inf', redis.call('HGET', key, 'rested_due_ms')
redis.call('HSET', moving_schedules, id, cjson.encode({ due = rested or due, fields = fields }))
redis.call('HSETNX', key, 'paused_at_ms', now_text)
redis.call('HSET', key, 'moved', '1')
redis.call('HDEL', key, 'rested_due_ms')
redis.call('ZADD', schedule_due, '+inf', id)
return 'taken'
