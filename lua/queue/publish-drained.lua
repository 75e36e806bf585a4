#!lua flags=allow-oom
-- Publishes that the queue is drained: no job waits or runs, but delayed jobs may be left. It does so once for all jobs
-- that ended since the last time, whichever worker calls first. A queue with shards publishes it in its first shard, for all.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] publish (listened, always, off)
-- ARGV[2] of a queue with shards: look, or the replies of all shards to that, the first shard before the others. Else ''
-- Returns published | busy (jobs wait or run) | already (no job has ended since). Repeated: already.
--   look: busy, or the numbers of jobs that have ended in each way until now
--@include lib/core/keys
--@include lib/core/clock
local publish, of_all = ARGV[1], ARGV[2]
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
if of_all == 'look' then
  return ended
end
local mark = of_all ~= '' and of_all or ended
if mark ~= ended and string.sub(mark, 1, #ended + 1) ~= ended .. ',' then
  return 'busy' -- a job has ended here since the look
end
if redis.call('HGET', sweep, 'drained_after') == mark then
  return 'already'
end
redis.call('HSET', sweep, 'drained_after', mark)
if listened then
  redis.call('PUBLISH', events, '{"id":"","status":"drained"}')
end
return 'published'
