#!lua
-- Deletes jobs of bee-queue that are in their new queue: in transit -> nothing.
-- Transition: none
-- KEYS[1] jobs     hash: each job as JSON
-- KEYS[2] transit  sorted set
-- KEYS[3] taken    hash
-- ARGV[1..] for each job: its id and its entry
-- Returns the number of jobs that it deleted.
-- Repeated: does nothing. If the id was taken again, its entry differs, and the newer job stays.
local jobs, transit, taken = unpack(KEYS)
local count = 0
for i = 1, #ARGV, 2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    redis.call('HDEL', jobs, id)
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    count = count + 1
  end
end
return count
