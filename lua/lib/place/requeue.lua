-- Puts a claimable job back. A retry goes to the back, a release or a reclaim to the front in its old place, or to a
--   later time. Each sets the status and wakes a worker if one is needed. A job with a group goes to its group's line
--   instead.
-- Needs: job, pending, prioritized, scheduled, wake, sequence, now, next_rank, lib/group/join.
local function wake_one()
  redis.call('ZADD', wake, 0, '1')
end

local function to_back(id, priority, group)
  redis.call('HSET', job .. id, 'status', 'pending', 'ready_at_ms', now)
  if group then
    return rejoin_group(group, id, priority)
  elseif priority then
    local rank = next_rank(priority)
    redis.call('HSET', job .. id, 'rank', rank)
    redis.call('ZADD', prioritized, rank, id)
  else
    redis.call('LPUSH', pending, id)
  end
  wake_one()
end

local function to_front(id, priority, rank, group)
  redis.call('HSET', job .. id, 'status', 'pending', 'ready_at_ms', now)
  if group then
    return rejoin_group(group, id, priority, true)
  elseif priority then
    redis.call('ZADD', prioritized, rank or next_rank(priority), id)
  else
    redis.call('RPUSH', pending, id)
  end
  wake_one()
end

local function to_later(id, due)
  redis.call('HSET', job .. id, 'status', 'scheduled', 'due_at_ms', due)
  redis.call('ZADD', scheduled, due, id)
  if redis.call('ZRANGE', scheduled, 0, 0)[1] == id then
    wake_one() -- a blocked worker sleeps until the due time it knew, so it must learn of the earlier one
  end
end
