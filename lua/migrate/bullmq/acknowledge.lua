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
-- A newer job with the same id stays: the older one was deleted and added again meanwhile.
local job, dedup, transit, taken = unpack(KEYS)
local count = 0
for i = 1, #ARGV, 2 do
  local id, entry = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', taken, id) == entry then
    local key = job .. id
    local created = redis.call('HGET', key, 'timestamp')
    redis.call('HDEL', taken, id)
    redis.call('ZREM', transit, id)
    if string.match(entry, '%S+$') == (created and redis.sha1hex(created) or '-') then
      local deduplicated_as = redis.call('HGET', key, 'deid')
      -- A key with an expiry outlives its job in BullMQ, too.
      if deduplicated_as then
        local owned = dedup .. deduplicated_as
        if redis.call('PTTL', owned) == -1 and redis.call('GET', owned) == id then
          redis.call('UNLINK', owned)
        end
      end
      redis.call('UNLINK', key, key .. ':logs', key .. ':dependencies', key .. ':processed', key .. ':failed', key .. ':unsuccessful')
      count = count + 1
    end
  end
end
return count
