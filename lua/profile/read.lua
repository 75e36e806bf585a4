#!lua flags=no-writes,allow-oom
-- Returns the profile of a queue.
-- KEYS[1] profile  hash, the profile of the queue
-- ARGV[1] '1' to return its content too
-- Returns nil if there is none, else its fields in the order below. Repeated: reads again.
local profile = KEYS[1]
local fields = { 'id', 'state', 'name', 'kind', 'for_ms', 'asked_at_ms', 'worker', 'job', 'attempt', 'started_at_ms',
  'ended_at_ms', 'reason' }
local found = redis.call('HMGET', profile, unpack(fields))
if not found[1] then
  return nil
end
found[#fields + 1] = redis.call('HSTRLEN', profile, 'content')
found[#fields + 2] = ARGV[1] == '1' and redis.call('HGET', profile, 'content') or ''
return found
