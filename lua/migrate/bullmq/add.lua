#!lua
-- Adds jobs of a queue of this library to a queue of BullMQ 6, each once. They go to wait, prioritized, delayed or failed. The entry of
--   a job is marked in the step that adds it. See docs/internals/moving.md.
-- Transition: none
-- KEYS[1] job          prefix of the hashes
-- KEYS[2] wait         list
-- KEYS[3] prioritized  sorted set
-- KEYS[4] delayed      sorted set
-- KEYS[5] failed       sorted set
-- KEYS[6] pc           string: the counter of priorities
-- KEYS[7] marker       sorted set: wakes a worker
-- KEYS[8] events       stream
-- KEYS[9] mover        hash: the largest fence of each move
-- KEYS[10] once        sorted set: the marks of this move
-- KEYS[11] de          prefix of the keys of deduplication
-- ARGV[1] source, ARGV[2] fence of this mover
-- ARGV[3..] for each job: the key of its entry, its place, its id, its key of deduplication ('' for none) and how long it holds it in
--   ms ('' until its end), its score (priority, or instant in ms), the number of its fields and values, then these
-- Returns stale if another mover has begun. Else for each job: new, known (its entry is marked), existing (its id is in use) or
--   unique (another job holds its key).
-- Repeated: known for each, and nothing changes.
local job, wait, prioritized, delayed, failed, pc, marker, events, mover, once, de = unpack(KEYS)
local source, fence = ARGV[1], ARGV[2]
local field = 'from:' .. source
if tonumber(redis.call('HGET', mover, field) or 0) > tonumber(fence) then
  return 'stale'
end
redis.call('HSET', mover, field, fence)

local function place_in(place, id, score)
  if place == 'pending' then
    redis.call('LPUSH', wait, id)
  elseif place == 'prioritized' then
    redis.call('ZADD', prioritized, string.format('%.0f', score * 2 ^ 32 + redis.call('INCR', pc) % 2 ^ 32), id)
  elseif place == 'scheduled' then
    redis.call('ZADD', delayed, string.format('%.0f', score * 4096), id)
    local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
    redis.call('ZADD', marker, string.format('%.0f', math.floor(tonumber(first[2]) / 4096)), '1')
    return
  else
    redis.call('ZADD', failed, string.format('%.0f', score), id)
    return
  end
  redis.call('ZADD', marker, 0, '0')
  redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', id)
end

local function add(place, id, dedup, dedup_ms, score, from, n)
  if redis.call('EXISTS', job .. id) == 1 then
    return 'existing'
  elseif dedup ~= '' and redis.call('EXISTS', de .. dedup) == 1 then
    return 'unique'
  end
  redis.call('HSET', job .. id, unpack(ARGV, from, from + n - 1))
  if dedup ~= '' then
    redis.call('SET', de .. dedup, id)
    if dedup_ms ~= '' then
      redis.call('PEXPIRE', de .. dedup, dedup_ms)
    end
  end
  place_in(place, id, tonumber(score))
  return 'new'
end

local replies, at = {}, 3
while at <= #ARGV do
  local key, n = ARGV[at], tonumber(ARGV[at + 6])
  local reply = redis.call('ZSCORE', once, key) and 'known'
    or add(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], at + 7, n)
  if reply == 'new' then
    redis.call('ZADD', once, 0, key)
  end
  replies[#replies + 1] = reply
  at = at + 7 + n
end
return replies
