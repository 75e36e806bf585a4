-- remove_waiting(id): takes a job that waits out of its place; answers whether it was in one. Needs: keys.
local function remove_waiting(id)
  return redis.call('ZREM', scheduled, id) + redis.call('ZREM', prioritized, id) > 0
    or redis.call('LREM', pending, 1, id) > 0
end
