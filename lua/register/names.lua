#!lua flags=no-writes,allow-oom
-- Returns the names of queues in the register of this Redis.
-- KEYS[1] the register (sorted set, score = when the name was last added, in ms)
-- ARGV[1] the most names
-- Returns the names, those that were added last first. Repeated: reads again.
local register, most = KEYS[1], tonumber(ARGV[1])

return redis.call('ZRANGE', register, 0, most - 1, 'REV')
