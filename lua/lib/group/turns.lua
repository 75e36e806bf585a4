-- turns holds the groups that may run, by virtual start time; finishes holds where the last turn of the others ended.
-- current_virtual_time(), enter_turns(name): whether it was not there before, leave_turns(name, finish): finish where it is known.
-- Needs: lib/group/state.
local function current_virtual_time()
  virtual_time = virtual_time or tonumber(redis.call('HGET', group_keys.settings, 'virtual_time') or nil) or 0
  return virtual_time
end

-- An idle group has no credit: it starts now, or where its last turn ended if that is later.
local function enter_turns(name)
  local finish = redis.call('ZSCORE', group_keys.finishes, name)
  local start = string.format('%.17g', math.max(current_virtual_time(), tonumber(finish or nil) or 0))
  if redis.call('ZADD', group_keys.turns, 'NX', start, name) == 0 then
    return false
  end
  if finish then
    redis.call('ZREM', group_keys.finishes, name)
  end
  return true
end

local function leave_turns(name, finish)
  finish = finish or redis.call('ZSCORE', group_keys.turns, name)
  if finish then
    redis.call('ZREM', group_keys.turns, name)
    if tonumber(finish) > current_virtual_time() then
      redis.call('ZADD', group_keys.finishes, finish, name)
    end
  end
end
