#!lua
-- Gives jobs back to BullMQ or Bull, because they cannot be moved: in transit -> where they came from. In a list they are the next to run, in their order.
-- Transition: none
-- KEYS[1] wait         list
-- KEYS[2] paused       list, before BullMQ 6
-- KEYS[3] prioritized  sorted set
-- KEYS[4] delayed      sorted set
-- KEYS[5] priority     sorted set, of Bull 4
-- KEYS[6] meta         hash
-- KEYS[7] marker       sorted set, of BullMQ: wakes a worker
-- KEYS[8] transit      sorted set
-- KEYS[9] taken        hash
-- KEYS[10] job         prefix of the hashes
-- KEYS[11] bull_pause  string, of Bull 4: exists while the queue is paused
-- KEYS[12] failed      sorted set
-- ARGV[1] era          bull, bullmq5 or bullmq6: where the jobs of a paused queue wait, and whether there are markers
-- ARGV[2..] for each job: its id and its entry, in the order in which they would run
-- Returns the number of jobs that it gave back. A job that was deleted meanwhile is only forgotten, also if a newer one has
--   its id.
-- Repeated: does nothing, because the jobs are no longer in transit.
local wait, paused, prioritized, delayed, priority, meta, marker, transit, taken, job, bull_pause, failed = unpack(KEYS)
local era = ARGV[1]
-- Early versions of Bull 4 note a pause only in bull_pause.
local is_paused = redis.call('HEXISTS', meta, 'paused') == 1 or redis.call('EXISTS', bull_pause) == 1
local line = era ~= 'bullmq6' and is_paused and paused or wait
local places, count = { prioritized = prioritized, delayed = delayed, failed = failed }, 0
for i = #ARGV - 1, 2, -2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    local name, score, among, digest = string.match(entry, '^%S+ (%S+) (%S+) (%S+) (%S+)$')
    local created = redis.call('HGET', job .. id, 'timestamp')
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    if redis.call('EXISTS', job .. id) == 1 and digest == (created and redis.sha1hex(created) or '-') then
      count = count + 1
      if places[name] then
        redis.call('ZADD', places[name], score, id)
      else
        redis.call('RPUSH', line, id)
      end
      if among ~= '-' then
        redis.call('ZADD', priority, among, id)
      end
    end
  end
end
if count > 0 and era ~= 'bull' then
  redis.call('ZADD', marker, 0, '0')
end
return count
