-- remove_waiting(id): takes a job that waits out of its place; answers whether it was in one. remove_sorted(id): the same, but for
-- pending, in which a search is O(its length). Needs: keys, lib/group/place.
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
