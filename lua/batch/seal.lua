#!lua flags=allow-oom
-- Seals a batch: no more jobs can join it. If all its members have ended, or if it has none, it fires at once.
-- Transition: seal
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- Returns sealed | posted (the outbox has a follow-up of another queue) | missing. Repeated: sealed, and nothing changes.
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
return 'sealed'
