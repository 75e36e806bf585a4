#!lua flags=allow-oom
-- Stops a batch: the sweep cancels its open members, in slices, and jobs that join it later are cancelled too. Its `then`
-- does not follow, even if all members complete.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- Returns stopped | fired (all had ended) | missing. Repeated: the same, and nothing changes.
--@include lib/core/keys
--@include lib/core/clock
local key = batch_record .. ARGV[1]
local created, fired = unpack(redis.call('HMGET', key, 'created_at_ms', 'fired_at_ms'))
if not created then
  return 'missing'
end
if fired then
  return 'fired'
end
redis.call('HSETNX', key, 'cancel_requested_at_ms', now_text)
if redis.call('HSETNX', key, 'stopped_at_ms', now_text) == 1 then
  redis.call('ZADD', batches, '0', ARGV[1])
end
return 'stopped'
