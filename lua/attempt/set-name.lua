#!lua flags=allow-oom
-- Sets the name of a claimed job that a producer of the Redis pattern stored without one. The claimer found it in the
-- payload. The limits of the name's handler apply then, even if the worker dies. Marks the job as a foreign producer's.
-- Stores the retries of the pattern, where neither the handler nor the queue sets them.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] name
-- ARGV[4] retries as JSON, for the options; '' for none
-- ARGV[5] max_attempts; '' for none
-- Returns 1, or 0 if the claim is lost or the job has a name of its producer. Repeated: 0.
--@include lib/core/keys
--@include lib/core/read
local key = job .. ARGV[1]
local token, name, options = unpack(read(key, 'claim_token', 'name', 'options'))
if token ~= ARGV[2] or name and options ~= '{"nameless":true}' then
  return 0
end
redis.call('HSET', key, 'name', ARGV[3], 'foreign', '1', 'options', ARGV[4])
if ARGV[4] == '' then
  redis.call('HDEL', key, 'options')
end
if ARGV[5] ~= '' then
  redis.call('HSET', key, 'max_attempts', ARGV[5])
end
return 1
