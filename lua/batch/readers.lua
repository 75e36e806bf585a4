#!lua flags=no-writes,allow-oom
-- Returns which jobs here may still read the records of jobs that they came after: those that have not ended, and dead
-- letters, which may be redriven.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..] ids
-- Returns 1 or 0 for each. Repeated: reads again.
--@include lib/core/keys
local waits, reply = { pending = true, scheduled = true, processing = true, failed = true }, {}
for i = 1, #ARGV do
  local status = redis.pcall('HGET', job .. ARGV[i], 'status')
  reply[i] = type(status) == 'table' and 1 or waits[status] and 1 or 0
end
return reply
