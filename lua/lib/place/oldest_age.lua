-- oldest_age(): how long the oldest job that can be claimed has waited, in ms, also one that is due and not promoted; 0 for none.
-- waiting_since: of each name that oldest_age() met, since when its oldest job waits, in ms. Needs: keys, now.
local waiting_since = {}

local function age_of(id)
  local ready_at, enqueued_at, name = unpack(redis.pcall('HMGET', job .. id, 'ready_at_ms', 'enqueued_at_ms', 'name'))
  local since = tonumber(ready_at or enqueued_at)
  if since and name then
    waiting_since[name] = math.min(waiting_since[name] or now, since)
  end
  return since and math.max(0, now - since) or 0
end

-- The front of the line holds the oldest job, but for what a reclaim put before it; a few more are looked at.
local function oldest_age()
  local age = 0
  for _, id in ipairs(redis.call('LRANGE', pending, -20, -1)) do
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
  for _, group in ipairs(redis.call('ZRANGE', groups .. 'heads', 0, 4)) do
    age = math.max(age, age_of(redis.call('ZRANGE', groups .. 'waiting:' .. group, 0, 0)[1] or ''))
  end
  local due = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  return due[2] and math.max(age, now - tonumber(due[2])) or age
end
