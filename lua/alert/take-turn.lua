#!lua flags=allow-oom
-- Takes the turn to look at the queue for alerts: one process of the fleet looks in each interval.
-- Transition: none
-- KEYS[1] the record of alerts
-- ARGV[1] token of this look
-- ARGV[2] the least time between two looks, in ms
-- ARGV[3] the lifetime of the record without a look, in ms
-- Returns nothing if another look began within that time; else now in ms and the record, '' for none.
-- Repeated: the same. A process that dies with its turn wrote nothing, so the next look finds the same.
--@include lib/core/clock
local alerts = KEYS[1]
local looked_at, holder, record = unpack(redis.call('HMGET', alerts, 'looked_at_ms', 'look', 'record'))
local since = now - (tonumber(looked_at or '') or 0)
if holder ~= ARGV[1] and since >= 0 and since < tonumber(ARGV[2]) then
  return {}
end
redis.call('HSET', alerts, 'looked_at_ms', now_text, 'look', ARGV[1])
redis.call('PEXPIRE', alerts, ARGV[3])
return { now_text, record or '' }
