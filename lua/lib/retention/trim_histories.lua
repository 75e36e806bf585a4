-- trim_histories(): applies the limits of the handlers to what stands in `histories`: a dead letter beyond its cap or past
-- its age is deleted, a completed or cancelled job leaves the queue's history too and lives evicted_ttl more. Not a job that
-- is gone or has another life by now: then only its member goes.
-- Needs: keys, limit, more, now, evicted_ttl, own_retention, own_ends, index_finished, other_lives.
local most_passed = 200000 -- entries of lists; once the searches of this call passed over so many, about 2 ms, it ends
local passed = 0
local reach = 10000 -- entries of a list that a search passes over from one end before it tries the other
local budget = limit -- members that this call may still drop
local dropped = { completed = 0, cancelled = 0, failed = 0 }

-- What ended of late stands near the front of its list, what ended long ago near its end.
local function remove_from_history(list, id)
  local length = redis.call('LLEN', list)
  for _, side in ipairs({ 1, -1 }) do
    local at = redis.call('LPOS', list, id, 'RANK', side, 'MAXLEN', reach)
    if at then
      passed = passed + 2 * (side == 1 and at + 1 or length - at)
      return redis.call('LREM', list, side, id)
    end
    passed = passed + math.min(reach, length)
  end
  passed = passed + length
  return redis.call('LREM', list, -1, id)
end

local function drop(state, member)
  local at, id = string.match(member, ' (%d+) (%S+)$')
  redis.call('ZREM', histories, member)
  if not at or not same_life(state, at, id) then
    return
  end
  dropped[state] = dropped[state] + 1
  if state == 'failed' then
    redis.call('ZREM', dead, id)
    redis.call('UNLINK', job .. id)
  else
    remove_from_history(state == 'completed' and completed or cancelled, id)
    redis.call('PEXPIRE', job .. id, evicted_ttl, 'XX', 'LT')
  end
end

-- Up to `most` of the oldest of a group, as long as they sort before `to`.
local function drop_oldest(state, group, to, most)
  local least = math.min(most, budget)
  local oldest = redis.call('ZRANGE', histories, '(' .. group, '(' .. to, 'BYLEX', 'LIMIT', 0, least)
  for _, member in ipairs(oldest) do
    if passed >= most_passed then
      more = 1
      return
    end
    drop(state, member)
    budget = budget - 1
  end
  more = #oldest == least and least < most and 1 or more
end

local function trim_group(state, own)
  local group = handler_group(state, own)
  local after = string.sub(group, 1, -2) .. '!' -- the blank is followed by '!'
  local excess = own[state] and redis.call('ZLEXCOUNT', histories, '(' .. group, '(' .. after) - own[state] or 0
  if excess > 0 then
    drop_oldest(state, group, after, excess)
  end
  if state == 'failed' and (own.dead_age or 0) > 0 then
    drop_oldest(state, group, group .. string.format('%d', now - own.dead_age + 1), math.huge)
  end
end

local function trim_histories()
  local by_name = redis.call('HRANDFIELD', retention, limit, 'WITHVALUES')
  for i = 2, #by_name, 2 do
    local own = read_retention(by_name[i])
    for state in pairs(own and ended_at or {}) do
      trim_group(state, own)
    end
  end
  for state, count in pairs(dropped) do
    move_cursors_back(state, count)
  end
end
