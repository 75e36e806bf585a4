#!lua flags=no-writes,allow-oom
-- One consistent look at the queue, at a cost that does not grow with it.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms
-- Returns a flat list of field, value: the depths, ages in ms, workers, paused_at_ms, then the counters.
-- Repeated: looks again.
--@include lib/core/keys
--@include lib/core/clock
local function age_of(id)
  local ready_at, enqueued_at = unpack(redis.pcall('HMGET', job .. id, 'ready_at_ms', 'enqueued_at_ms'))
  local since = tonumber(ready_at or enqueued_at)
  return since and math.max(0, now - since) or 0
end

-- The front of the line holds the oldest job, but for what a reclaim put before it; a few more are looked at.
local function oldest_age()
  local age = 0
  for _, id in ipairs(redis.call('LRANGE', pending, -10, -1)) do
    age = math.max(age, age_of(id))
  end
  for _, id in ipairs(redis.call('ZRANGE', prioritized, 0, 4)) do
    age = math.max(age, age_of(id))
  end
  local last = redis.call('ZRANGE', prioritized, -1, -1, 'WITHSCORES')
  if last[2] then
    local line_start = string.format('%.0f', math.floor(tonumber(last[2]) / 2 ^ 40) * 2 ^ 40)
    age = math.max(age, age_of(redis.call('ZRANGE', prioritized, line_start, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]))
  end
  local due = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  return due[2] and math.max(age, now - tonumber(due[2])) or age
end

local answer = {
  'now_ms', now,
  'pending', redis.call('LLEN', pending) + redis.call('ZCARD', prioritized),
  'scheduled', redis.call('ZCARD', scheduled),
  'processing', redis.call('ZCARD', claims) + redis.call('LLEN', processing),
  'completed', redis.call('LLEN', completed),
  'failed', redis.call('ZCARD', dead),
  'cancelled', redis.call('LLEN', cancelled),
  'oldest_pending_age_ms', oldest_age(),
  'expired_claims', redis.call('ZCOUNT', claims, '-inf', now),
  'workers', redis.call('ZCOUNT', workers, now - tonumber(ARGV[1]), '+inf'),
  'paused_at_ms', redis.call('HGET', settings, 'paused_at_ms') or '',
}
for _, value in ipairs(redis.call('HGETALL', stats)) do
  answer[#answer + 1] = value
end
return answer
