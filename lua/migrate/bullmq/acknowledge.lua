#!lua
-- Deletes jobs of BullMQ or Bull that are in their new queue: in transit -> nothing.
-- Transition: none
-- KEYS[1] job      prefix of the hashes
-- KEYS[2] dedup    prefix of the keys of deduplication
-- KEYS[3] transit  sorted set
-- KEYS[4] taken    hash
-- ARGV[1..] for each job: its id and its entry
-- Returns the number of jobs that it deleted.
-- Repeated: does nothing. If the id was taken again, its entry differs, and the newer job stays.
local job, dedup, transit, taken = unpack(KEYS)
local count = 0
for i = 1, #ARGV, 2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    local key = job .. id
    local deduplicated_as = redis.call('HGET', key, 'deid')
    -- A key with an expiry outlives its job in BullMQ, too.
    if deduplicated_as then
      local owned = dedup .. deduplicated_as
      if redis.call('PTTL', owned) == -1 and redis.call('GET', owned) == id then
        redis.call('UNLINK', owned)
      end
    end
    redis.call('UNLINK', key, key .. ':logs', key .. ':dependencies', key .. ':processed', key .. ':failed', key .. ':unsuccessful')
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    count = count + 1
  end
end
return count
