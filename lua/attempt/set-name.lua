#!lua flags=allow-oom
-- Sets the name of a claimed job that a producer of the Redis pattern stored without one. The claimer found it in the
-- payload. The limits of the name's handler apply then, even if the worker dies. Marks the job as a foreign producer's.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] name
-- Returns 1, or 0 if the claim is lost or the job has a name. Repeated: 0.
--@include lib/core/keys
--@include lib/core/read
local key = job .. ARGV[1]
if read(key, 'claim_token')[1] ~= ARGV[2] then
  return 0
end
local written = redis.call('HSETNX', key, 'name', ARGV[3])
if written == 1 then
  redis.call('HSET', key, 'foreign', '1')
end
return written
