-- oldest_age(): returns the age of the oldest waiting job, in ms, a due job included; 0 for none. Then the same for the
--   jobs that no group holds back.
-- waiting_since: since when the oldest job of each name that oldest_age() met waits, in ms.
-- Needs: lib/core/clock, lib/core/keys.
local waiting_since = {}

local function age_of(id)
  local ready_at, enqueued_at, name = unpack(redis.pcall('HMGET', job .. id, 'ready_at_ms', 'enqueued_at_ms', 'name'))
  local since = tonumber(ready_at or enqueued_at)
  if since and name then
    waiting_since[name] = math.min(waiting_since[name] or now, since)
  end
  return since and math.max(0, now - since) or 0
end

local function age_of_group(group)
  return age_of(redis.call('ZRANGE', groups .. 'waiting:' .. group, 0, 0)[1] or '')
end

-- Reads the oldest heads, and the groups with the next turns, because many old groups may be held back.
local function ages_of_groups()
  local held, unheld, turns = 0, 0, groups .. 'turns'
  for _, group in ipairs(redis.call('ZRANGE', groups .. 'heads', 0, 4)) do
    local age = age_of_group(group)
    if redis.call('ZSCORE', turns, group) then
      unheld = math.max(unheld, age)
    else
      held = math.max(held, age)
    end
  end
  for _, group in ipairs(redis.call('ZRANGE', turns, 0, 2)) do
    unheld = math.max(unheld, age_of_group(group))
  end
  return held, unheld
end

-- Returns the age of the oldest job, which is at the front, except for reclaimed jobs before it. So a few more are
-- read.
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
  local due = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  age = due[2] and math.max(age, now - tonumber(due[2])) or age
  local held, unheld = ages_of_groups()
  return math.max(age, held, unheld), math.max(age, unheld)
end
