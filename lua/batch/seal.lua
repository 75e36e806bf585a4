#!lua flags=allow-oom
-- Seals a batch: no more jobs can join it. If all its members have ended, or if it has none, it fires at once.
-- Transition: seal
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- Returns sealed | posted (the outbox has something for another queue) | missing. Repeated: changes nothing, and returns
--   the same while the outbox has something.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/enqueue/options
--@include lib/batch/follow_up
local batch = ARGV[1]
local key = batch_record .. batch
if redis.call('HEXISTS', key, 'created_at_ms') == 0 then
  return 'missing'
end
if redis.call('HSETNX', key, 'sealed_at_ms', now_text) == 1 and redis.call('ZCARD', key .. '/open') == 0 then
  return fire(batch, key) and 'posted' or 'sealed'
end
local is_posted = redis.call('HEXISTS', key, 'fired_at_ms') == 1 and redis.call('HLEN', batch_outbox) > 0
return is_posted and 'posted' or 'sealed'
