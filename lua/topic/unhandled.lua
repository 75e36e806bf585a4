#!lua flags=no-writes,allow-oom
-- Returns which names of jobs have no handler in any live worker of the queue. A handler of every name is of another code.
-- KEYS[1] names  sorted set, names of handled jobs, score = when a worker last announced one in ms
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms
-- ARGV[2..] the names
-- Returns the positions of the names, from 1. Repeated: reads again.
local names = KEYS[1]
--@include lib/core/clock
local since, found = now - tonumber(ARGV[1]), {}

for i = 2, #ARGV do
  if tonumber(redis.call('ZSCORE', names, ARGV[i]) or 0) < since then
    found[#found + 1] = i - 1
  end
end
return found
