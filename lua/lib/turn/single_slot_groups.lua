-- Finds the groups for lib/turn/take_single_slot.
-- read_single_slot(count): returns the first groups in turns, how long a turn is, and the virtual time. Returns nil if these are
--   not to be taken there.
-- first_single_slot(found): returns the first of them up to one that has a state of its own. A group in turns has a free
--   slot, unless the settings of all groups are under review.
-- Needs: groups, pending, prioritized, lib/core/clock.
local function read_single_slot(count)
  local max_running, interval, weight, virtual_time, review = unpack(redis.call('HMGET', groups .. 'settings', 'max_running',
    'rate_interval_us', 'weight', 'virtual_time', 'review_cursor'))
  if count < 1 or max_running ~= '1' or interval or review or redis.call('EXISTS', pending, prioritized, groups .. 'gated') > 0
    or (tonumber(redis.call('ZRANGE', groups .. 'resting', 0, 0, 'WITHSCORES')[2] or nil) or math.huge) <= now then
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
