#!lua flags=allow-oom
-- Publishes that the queue is drained: no job waits or runs, but delayed jobs may be left. It does so once for all jobs
-- that ended since the last time, whichever worker calls first.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] publish (listened, always, off)
-- Returns published | busy (jobs wait or run) | already (no job has ended since). Repeated: already.
--@include lib/core/keys
--@include lib/core/clock
local publish = ARGV[1]
--@include lib/core/events
local function is_busy()
  return redis.call('EXISTS', pending, prioritized, claims, processing, groups .. 'heads') > 0
    or redis.call('ZCOUNT', scheduled, '-inf', now) > 0
end

if is_busy() then
  return 'busy'
end
local completed_total, failed_total, cancelled_total = unpack(redis.call('HMGET', stats,
  'completed_total', 'failed_total', 'cancelled_total'))
local ended = table.concat({ completed_total or '0', failed_total or '0', cancelled_total or '0' }, ' ')
if redis.call('HGET', sweep, 'drained_after') == ended then
  return 'already'
end
redis.call('HSET', sweep, 'drained_after', ended)
if listened then
  redis.call('PUBLISH', events, '{"id":"","status":"drained"}')
end
return 'published'
