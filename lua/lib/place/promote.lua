-- promote(limit, rejoin): moves up to limit due jobs from scheduled to claimable places, and returns how many.
-- rejoin: see lib/group/join; nil if the queue never had a group.
-- It also moves a job without a hash, which its claim sets aside with the reason. An id that was left there is dropped.
-- Needs: claims, job, pending, prioritized, scheduled, settings, lib/core/clock, lib/core/rank, lib/core/read.
local left_behind = { completed = true, failed = true, cancelled = true }

local function promote(limit, rejoin)
  local due = redis.call('ZRANGE', scheduled, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  local plain, first, moved = {}, {}, {}
  for i = 1, #due, 2 do
    local id, ready_at = due[i], due[i + 1]
    local key = job .. id
    local status, priority, group, lifo = unpack(read(key, 'status', 'priority', 'group', 'lifo'))
    if left_behind[status] or status == 'processing' and redis.call('ZSCORE', claims, id) then
      moved[#moved + 1] = id
    elseif group and not rejoin then
      redis.call('HSET', settings, 'has_groups', '1') -- a follow-up is the first of its group here: the next claim moves it
    else
      if status then
        redis.call('HSET', key, 'status', 'pending', 'ready_at_ms', string.format('%d', tonumber(ready_at)))
      elseif rejoin then
        rejoin(nil, id)
      end
      if group then
        rejoin(group, id, priority)
      elseif priority then
        local rank = next_rank(priority)
        redis.call('HSET', key, 'rank', rank)
        redis.call('ZADD', prioritized, rank, id)
      elseif lifo then
        first[#first + 1] = id
      else
        plain[#plain + 1] = id
      end
      moved[#moved + 1] = id
    end
  end
  -- The list comes before scheduled. Where it has another type, no job leaves its place, and a repeat doubles none.
  if #first > 0 then
    redis.call('RPUSH', pending, unpack(first))
  end
  if #plain > 0 then
    redis.call('LPUSH', pending, unpack(plain))
  end
  if #moved > 0 then
    redis.call('ZREM', scheduled, unpack(moved))
  end
  return #moved
end
