-- note_name(key, name): stores the name that a producer of the Redis pattern left in the payload. The mark in the options
-- asks the next claimer for the job's retries, see lua/attempt/set-name.
local function note_name(key, name)
  redis.call('HSET', key, 'name', name, 'foreign', '1', 'options', '{"nameless":true}')
end
