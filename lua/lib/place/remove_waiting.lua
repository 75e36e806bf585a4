-- remove_waiting(id): removes a waiting job from its place, and returns whether it was in one.
-- remove_sorted(id): does the same except in pending, where a search is O(its length).
-- Needs: groups, job, pending, prioritized, scheduled, lib/group/place, lib/group/slot.
local function remove_sorted(id)
  local group = redis.pcall('HGET', job .. id, 'group')
  if type(group) == 'string' then
    end_hold(group, id)
    touch(group)
    return redis.call('ZREM', scheduled, id) + redis.call('ZREM', groups .. 'waiting:' .. group, id) > 0
  end
  return redis.call('ZREM', scheduled, id) + redis.call('ZREM', prioritized, id) > 0
end

local function remove_waiting(id)
  return remove_sorted(id) or redis.call('LREM', pending, 1, id) > 0
end
