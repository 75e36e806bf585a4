#!lua
-- Takes jobs out of a queue of BullMQ or Bull: wait, paused, prioritized, delayed or failed -> in transit. Its workers do
--   not see them from then on. The hashes stay until acknowledge or give-back.
-- Transition: none
-- KEYS[1] place     list or sorted set, where the jobs are
-- KEYS[2] priority  sorted set, of Bull 4
-- KEYS[3] transit   sorted set: the ids in transit, in their order
-- KEYS[4] taken     hash: the entry of each id
-- KEYS[5] mover     hash: fence, order
-- KEYS[6] jobs      prefix of the hashes; of bee-queue the hash of all jobs
-- ARGV[1] fence     of this mover
-- ARGV[2] name      of the place
-- ARGV[3] field     of a job's hash, which another job with the same id has otherwise; empty for bee-queue
-- ARGV[4..] ids     in the order in which they would run
-- Returns the number of jobs that it took, or -1 if another mover has taken over.
-- An entry is a key that never comes again, the name of the place, the score there, the score in priority, and a digest
--   of the job.
-- Repeated: takes nothing, because the jobs have left their place.
local place, priority, transit, taken, mover, jobs = unpack(KEYS)
local fence, name, field = ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')

-- Returns the score of an id that was removed; '-' in a list, nil if it was not there.
local function remove(id, is_list)
  if is_list then
    return redis.call('LREM', place, -1, id) == 1 and '-' or nil
  end
  local score = redis.call('ZSCORE', place, id)
  return score and redis.call('ZREM', place, id) == 1 and score or nil
end

local function digest_of(id)
  local value = redis.call('HGET', field == '' and jobs or jobs .. id, field == '' and id or field)
  return value and redis.sha1hex(value) or '-'
end

if redis.call('HGET', mover, 'fence') ~= fence then
  return -1
end
local is_list, count = redis.call('TYPE', place).ok == 'list', 0
for i = 4, #ARGV do
  local id = ARGV[i]
  local score = remove(id, is_list)
  if score then
    local order = redis.call('HINCRBY', mover, 'order', 1)
    local key = string.format('%s%06d-%d', time[1], time[2], order)
    local among = redis.call('ZSCORE', priority, id) or '-'
    redis.call('ZADD', transit, order, id)
    redis.call('HSET', taken, id, table.concat({ key, name, score, among, digest_of(id) }, ' '))
    redis.call('ZREM', priority, id)
    count = count + 1
  end
end
return count
