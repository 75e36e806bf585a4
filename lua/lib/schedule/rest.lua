-- Schedules. One that rests (paused, or declared by nobody) has the score +inf in schedule_due, so that it is in nobody's way.
-- is_declared(id, declaration_ms): whether some process declared it within the last `declaration_ms` ms.
-- rest(id, key, due): stops a schedule that nobody declares; its hash remembers what was due.
-- wake_schedule(id, key): ends that rest, with what was due then.
-- Needs: schedule_due, schedule_owners, now.
local function is_declared(id, declaration_ms)
  local seen = redis.call('ZSCORE', schedule_owners, id)
  return seen and tonumber(seen) > now - declaration_ms
end

local function rest(id, key, due)
  redis.call('HSET', key, 'rested_due_ms', due)
  redis.call('ZADD', schedule_due, '+inf', id)
end

local function wake_schedule(id, key)
  local due = redis.call('HGET', key, 'rested_due_ms')
  if due then
    redis.call('HDEL', key, 'rested_due_ms')
    redis.call('ZADD', schedule_due, due, id)
  end
end
