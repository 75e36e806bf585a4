#!lua flags=allow-oom
-- Publishes events that only a job's worker knows of: a lost claim, or a stuck handler.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] name
-- ARGV[3] status
-- ARGV[4] publish (listened, always, off)
-- Returns 1 if it was published, else 0. Repeated: it is published twice.
--@include lib/core/keys
local id, name, status, publish = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--@include lib/core/events
if not listened then
  return 0
end
-- The name is the worker's, because a removed job has no hash to read it from.
redis.call('PUBLISH', events, cjson.encode({ id = id, status = status, name = name }))
return 1
