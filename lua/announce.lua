#!lua flags=allow-oom
-- Says that a worker serves this queue, or that it no longer does. The first one stands for a first sweep: a server that
-- goes away before one is known by the gap, and live claims are not taken back at once, see lua/reclaim.lua.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] worker; ARGV[2] '1' it serves, '0' it has stopped
-- ARGV[3..] for each handler with limits of its own: job name, max_attempts:max_crashes
-- Returns nothing. Repeated: the same.
--@include lib/keys
--@include lib/clock
if ARGV[2] == '1' then
  redis.call('ZADD', workers, now, ARGV[1])
  redis.call('HSETNX', sweep, 'last_run_at_ms', now)
  if ARGV[3] then
    redis.call('HSET', policies, unpack(ARGV, 3))
  end
else
  redis.call('ZREM', workers, ARGV[1])
end
