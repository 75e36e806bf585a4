-- Finds the groups for lib/turn/take_single_slot.
-- read_single_slot(count): returns the first groups in turns, how long a turn is, and the virtual time. Returns nil if these are
--   not to be taken there.
-- first_single_slot(found): returns the first of them up to one that has a state of its own. A group in turns has a free
--   slot, unless the settings of all groups are under review.
-- Needs: groups, pending, prioritized, lib/core/clock, lib/core/drop_long.
local function read_single_slot(count)
  local common = redis.call('HMGET', groups .. 'settings', 'max_running', 'rate_limit', 'weight', 'virtual_time', 'review_cursor')
  for i = 1, 5 do
    if common[i] and #common[i] > 65536 then
      drop_long(groups .. 'settings')
      return nil
    end
  end
  local max_running, rate_limit, weight, virtual_time, review = unpack(common, 1, 5)
  if count < 1 or max_running ~= '1' or rate_limit or review or redis.call('EXISTS', pending, prioritized, groups .. 'gated') > 0 then
    return nil
  end
  local resting = redis.call('ZRANGE', groups .. 'resting', 0, 0, 'WITHSCORES')
  if resting[1] and #resting[1] > 1024 then -- no group has such a name, and each claim would read it
    redis.call('ZREM', groups .. 'resting', resting[1])
  elseif (tonumber(resting[2] or nil) or math.huge) <= now then
    return nil
  end
  return redis.call('ZRANGE', groups .. 'turns', 0, count - 1), 1 / (tonumber(weight or nil) or 1), tonumber(virtual_time or nil) or 0
end

local function first_single_slot(found)
  local states = found[1] and redis.call('EXISTS', groups .. 'states') == 1 and redis.call('HMGET', groups .. 'states', unpack(found))
  for place = 1, states and #found or 0 do
    if states[place] then
      return { unpack(found, 1, place - 1) }
    end
  end
  return found
end
