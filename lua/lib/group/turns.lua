-- turns holds the groups that may run, by virtual start time; finishes holds where the last turn of the others ended.
-- current_virtual_time(), enter_turns(name): whether it was not there before, leave_turns(name).
-- Needs: lib/group/state.
local function current_virtual_time()
  virtual_time = virtual_time or tonumber(redis.call('HGET', group_keys.settings, 'virtual_time') or nil) or 0
  return virtual_time
end

-- An idle group has no credit: it starts now, or where its last turn ended if that is later.
local function enter_turns(name)
  if redis.call('ZSCORE', group_keys.turns, name) then
    return false
  end
  local finish = tonumber(redis.call('ZSCORE', group_keys.finishes, name) or nil) or 0
  redis.call('ZADD', group_keys.turns, string.format('%.17g', math.max(current_virtual_time(), finish)), name)
  redis.call('ZREM', group_keys.finishes, name)
  return true
end

local function leave_turns(name)
  local finish = redis.call('ZSCORE', group_keys.turns, name)
  if finish then
    redis.call('ZREM', group_keys.turns, name)
    if tonumber(finish) > current_virtual_time() then
      redis.call('ZADD', group_keys.finishes, finish, name)
    end
  end
end
