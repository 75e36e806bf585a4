#!lua flags=no-writes,allow-oom
-- Reads the limits that workers announced for the handler of a job. A job without limits of its own follows them.
-- KEYS[1] handler_limits  hash, job name -> max_attempts:max_crashes; `*` is the handler of every name
-- ARGV[1] the name of the job
-- Returns the limits as text; nil if no worker announced a handler for the name. Repeated: reads again.
local of_name, of_any = unpack(redis.call('HMGET', KEYS[1], ARGV[1], '*'))
return of_name or of_any
