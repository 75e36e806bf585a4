#!lua flags=allow-oom
-- Says that a worker serves this queue, or that it no longer does.
-- KEYS: the standard keys, see lib/keys
-- ARGV[1] worker; ARGV[2] '1' it serves, '0' it has stopped
-- Returns nothing. Repeated: the same.
--@include lib/keys
--@include lib/clock
if ARGV[2] == '1' then
  redis.call('ZADD', workers, now, ARGV[1])
else
  redis.call('ZREM', workers, ARGV[1])
end
