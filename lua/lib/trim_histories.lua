-- trim_histories(): applies the limits of the handlers to what stands in `histories`: a dead letter beyond its cap or past
-- its age is deleted, a completed or cancelled job leaves the queue's history too and lives fallen_ttl more. Not a job that
-- is gone or has another life by now: then only its member goes.
-- forget_other_lives(): of the histories, such members. A part of a long one, from anywhere in it: so those of a name
-- without a handler go in time too.
-- Needs: keys, limit, more, now, fallen_ttl, read, own_retention, own_ends, look_at_ended.
local most_passed = 200000 -- entries of lists that the searches of one call may pass over, about 2 ms
local budget = limit -- members that this call may still drop
local dropped = { completed = 0, cancelled = 0, failed = 0 }

local function same_life(state, at, id)
  local status, ended = unpack(read(job .. id, 'status', ended_at[state]))
  return status == state and ended == at
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
    redis.call('LREM', state == 'completed' and completed or cancelled, -1, id)
    redis.call('PEXPIRE', job .. id, fallen_ttl, 'XX', 'LT')
  end
end

-- Up to `most` of the oldest of a group, as long as they sort before `to`.
local function drop_oldest(state, group, to, most)
  local least = math.min(most, budget)
  if state ~= 'failed' then
    local length = redis.call('LLEN', state == 'completed' and completed or cancelled)
    least = math.min(least, math.max(1, math.floor(most_passed / (length + 1))))
  end
  local oldest = least > 0 and redis.call('ZRANGE', histories, '(' .. group, '(' .. to, 'BYLEX', 'LIMIT', 0, least) or {}
  for _, member in ipairs(oldest) do
    drop(state, member)
  end
  budget = budget - #oldest
  more = #oldest == least and least < most and 1 or more
end

local function trim_group(state, own)
  local group = own_group(state, own)
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
  local announced = redis.call('HRANDFIELD', retention, limit, 'WITHVALUES')
  for i = 2, #announced, 2 do
    local own = read_retention(announced[i])
    for state in pairs(own and ended_at or {}) do
      trim_group(state, own)
    end
  end
  for state, count in pairs(dropped) do
    move_cursors_back(state, count)
  end
end

local function forget_other_lives()
  local size = redis.call('ZCARD', histories)
  local from = size > limit and now % (size - limit + 1) or 0
  local gone = 0
  for _, member in ipairs(redis.call('ZRANGE', histories, from, from + limit - 1)) do
    local state = string.match(member, '^(%l+) "') or 'completed'
    local at, id = string.match(member, ' (%d+) (%S+)$')
    if not (ended_at[state] and at and same_life(state, at, id)) then
      gone = gone + redis.call('ZREM', histories, member)
    end
  end
  more = gone == limit and 1 or more
end
