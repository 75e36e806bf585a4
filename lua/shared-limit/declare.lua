#!lua flags=allow-oom
-- Stores the values that an app configures for a limit, and notes that a queue uses it. The last app that declares others
-- wins. They apply unless values were set at run time.
-- Transition: none
-- KEYS[1] limit   hash
-- KEYS[2] rates   prefix of the rates, each a hash
-- KEYS[3] queues  sorted set, queues that use it, score = when that was noted last in ms
-- ARGV[1] the values as JSON: how many permits, or '' for no bound, and the rates, each as limit, period in ms and burst.
--   '' if the app has none
-- ARGV[2] queue, as its keys spell it
-- Returns 1 if the values differ from those before, else 0. Repeated: 0.
local limit, rates, queues = unpack(KEYS)
--@include lib/core/clock
--@include lib/shared_limit/longest_use
--@include lib/shared_limit/write
redis.call('ZADD', queues, now_text, ARGV[2])
redis.call('ZREMRANGEBYSCORE', queues, '-inf', string.format('%.0f', now - longest_use_ms))
if ARGV[1] == '' or redis.call('HGET', limit, 'configured') == ARGV[1] then
  return 0
end
redis.call('HSET', limit, 'configured', ARGV[1])
if redis.call('HEXISTS', limit, 'set') == 0 then
  write_configured()
end
return 1
