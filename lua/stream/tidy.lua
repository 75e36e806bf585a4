#!lua flags=allow-oom
-- Deletes streams whose jobs are gone. Each call checks some of the streams whose next check is due.
-- Transition: none
-- KEYS[1] job      prefix of the job hashes
-- KEYS[2] stream   prefix of the streams of jobs
-- KEYS[3] streams  sorted set
-- ARGV[1] the most streams to look at
-- ARGV[2] the time until the next look at a stream, in ms
-- Returns 1 if it used up its limit, else 0. Repeated: looks at the next.
local job, stream, streams = unpack(KEYS)
--@include lib/core/clock
local due = redis.call('ZRANGE', streams, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local next_look = string.format('%d', now + tonumber(ARGV[2]))
for _, id in ipairs(due) do
  if redis.pcall('HEXISTS', job .. id, 'stream') ~= 1 then
    redis.call('UNLINK', stream .. id)
    redis.call('ZREM', streams, id)
  elseif redis.call('EXISTS', stream .. id) == 0 then
    redis.call('ZREM', streams, id)
  else
    redis.call('ZADD', streams, next_look, id)
  end
end
return #due == tonumber(ARGV[1]) and 1 or 0
