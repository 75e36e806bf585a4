-- remove_waiting(id): takes a job that waits out of its place; answers whether it was in one. Needs: keys, lib/group/place.
local function remove_waiting(id)
  local group = redis.pcall('HGET', job .. id, 'group')
  if type(group) == 'string' then
    end_hold(group, id)
    touch(group)
    return redis.call('ZREM', scheduled, id) + redis.call('ZREM', groups .. 'waiting:' .. group, id) > 0
  end
  return redis.call('ZREM', scheduled, id) + redis.call('ZREM', prioritized, id) > 0
    or redis.call('LREM', pending, 1, id) > 0
end
