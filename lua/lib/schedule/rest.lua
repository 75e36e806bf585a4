-- Schedules. A resting one (paused, or not declared) has the score +inf in schedule_due.
-- is_declared(id, declaration_ms): returns whether a process declared it within the last `declaration_ms` ms.
-- is_declaration(declared_until, declaration_ms): returns whether a declaration still holds. A later end than the clock of
--   now can have made is none.
-- rest(id, key, due): stops a schedule that no process declares; its hash keeps the due time.
-- wake_schedule(id, key): ends that rest, with the kept due time.
-- set_due(id, key, due): sets the next due time. With +inf, or after the last tick of its limit, the schedule has
--   ended. If a call made it, it is deleted a day later.
-- Needs: lib/core/clock, lib/core/keys.
local function is_declared(id, declaration_ms)
  local seen = redis.call('ZSCORE', schedule_owners, id)
  return seen and tonumber(seen) > now - declaration_ms
end

local function is_declaration(declared_until, declaration_ms)
  local ends_in = (tonumber(declared_until or nil) or 0) - now
  return ends_in > 0 and ends_in <= declaration_ms
end

local function rest(id, key, due)
  redis.call('HSET', key, 'rested_due_ms', string.format('%.0f', tonumber(due)))
  redis.call('ZADD', schedule_due, '+inf', id)
end

local function wake_schedule(id, key)
  local due = redis.call('HGET', key, 'rested_due_ms')
  if due then
    redis.call('HDEL', key, 'rested_due_ms')
    redis.call('ZADD', schedule_due, due, id)
  end
end

local function set_due(id, key, due)
  local ticks, limit, source = unpack(redis.call('HMGET', key, 'ticks', 'tick_limit', 'source'))
  local used_up = (tonumber(ticks) or 0) >= (tonumber(limit) or math.huge)
  if used_up or tonumber(due) == math.huge then
    redis.call('HSETNX', key, 'ended_at_ms', now_text)
    redis.call('ZADD', schedule_due, '+inf', id)
    if source ~= 'code' then
      redis.call('ZADD', schedule_owners, now, id)
    end
    return
  end
  redis.call('HDEL', key, 'ended_at_ms')
  redis.call('ZADD', schedule_due, due, id)
end
