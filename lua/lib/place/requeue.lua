-- Puts a claimable job back. A retry goes to the back. A release or a reclaim goes to the front in its old place, or to
--   a later time. Each sets the status and wakes a worker if one is needed. A job with a group goes to its group's line
--   instead. The status comes last: where a key has another type, the job keeps its claim.
-- Needs: lib/core/clock, lib/core/keys, lib/core/rank, lib/group/join, lib/group/place.
local function wake_one()
--@include lib/core/wake
end

-- Puts a job with a priority at its rank, else at the end of that priority.
local function put_in_line(id, priority, rank, group, is_first)
  if group then
    rejoin_group(group, id, priority, is_first)
  else
    wake_one()
    if priority and not rank then
      rank = next_rank(priority)
      redis.call('HSET', job .. id, 'rank', rank)
    end
    if priority then
      redis.call('ZADD', prioritized, rank, id)
    else
      redis.call(is_first and 'RPUSH' or 'LPUSH', pending, id)
    end
  end
  redis.call('HSET', job .. id, 'status', 'pending', 'ready_at_ms', now_text)
end

local function to_back(id, priority, group)
  put_in_line(id, priority, nil, group)
end

local function to_front(id, priority, rank, group)
  put_in_line(id, priority, rank, group, true)
end

-- Puts a job that starts now to the back, or to the front for lifo.
local function start_now(id, priority, group, lifo)
  put_in_line(id, priority, nil, group, lifo)
  place_groups()
end

local function to_later(id, due)
  local first_id, first_due = unpack(redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES'))
  if not first_id or first_id == id or tonumber(due) < tonumber(first_due) then
    wake_one() -- a blocked worker sleeps until the due time it knew, so it must learn of the earlier one
  end
  due = string.format('%d', tonumber(due))
  redis.call('ZADD', scheduled, due, id)
  redis.call('HSET', job .. id, 'status', 'scheduled', 'due_at_ms', due)
end
