#!lua
-- Gives jobs back to bee-queue, because they cannot be moved: in transit -> where they came from. In the list they are the
--   next to run, in their order.
-- Transition: none
-- KEYS[1] waiting  list
-- KEYS[2] delayed  sorted set
-- KEYS[3] jobs     hash: each job as JSON
-- KEYS[4] transit  sorted set
-- KEYS[5] taken    hash
-- KEYS[6] earlier  channel: its workers learn of a due time there
-- ARGV[1..] for each job: its id and its entry, in the order in which they would run
-- Returns the number of jobs that it gave back. A job that was deleted meanwhile is only forgotten, also if a newer one has
--   its id.
-- Repeated: does nothing, because the jobs are no longer in transit.
local waiting, delayed, jobs, transit, taken, earlier = unpack(KEYS)
local count = 0
for i = #ARGV - 1, 1, -2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    local name, score, digest = string.match(entry, '^%S+ (%S+) (%S+) %S+ (%S+)$')
    local job = redis.call('HGET', jobs, id)
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    if job and redis.sha1hex(job) == digest then
      count = count + 1
      if name == 'delayed' then
        redis.call('ZADD', delayed, score, id)
        redis.call('PUBLISH', earlier, score)
      else
        redis.call('RPUSH', waiting, id)
      end
    end
  end
end
return count
