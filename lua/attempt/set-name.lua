#!lua flags=allow-oom
-- Gives a claimed job the name that its claimer found in the payload, where a producer of the Redis pattern stored none:
-- the limits of its handler are looked up by it, also when the worker dies. Marks the job as a foreign producer's.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id; ARGV[2] token; ARGV[3] name
-- Returns 1, or 0 when the claim is lost or the job has a name. Repeated: 0.
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
