#!lua flags=allow-oom
-- Publishes what only the worker of a job knows of it: that its claim was lost, that its handler is stuck.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id; ARGV[2] name; ARGV[3] status; ARGV[4] publish (listened, always, off)
-- Returns 1 when it was published, else 0. Repeated: it is told twice.
--@include lib/core/keys
local id, name, status, publish = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--@include lib/core/events
if not listened then
  return 0
end
-- The name is the worker's: a job that was removed has no hash to tell it.
redis.call('PUBLISH', events, cjson.encode({ id = id, status = status, name = name }))
return 1
