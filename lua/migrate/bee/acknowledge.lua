#!lua
-- Deletes jobs of bee-queue that are in their new queue: in transit -> nothing.
-- Transition: none
-- KEYS[1] jobs     hash: each job as JSON
-- KEYS[2] transit  sorted set
-- KEYS[3] taken    hash
-- ARGV[1..] for each job: its id and its entry
-- Returns the number of jobs that it deleted.
-- Repeated: does nothing. If the id was taken again, its entry differs, and the newer job stays.
-- A newer job with the same id stays: the older one was deleted and added again meanwhile.
local jobs, transit, taken = unpack(KEYS)
local count = 0
for i = 1, #ARGV, 2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    local job = redis.call('HGET', jobs, id)
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    if job and redis.sha1hex(job) == string.match(entry, '%S+$') then
      redis.call('HDEL', jobs, id)
      count = count + 1
    end
  end
end
return count
