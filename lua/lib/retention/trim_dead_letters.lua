-- trim_dead_letters(most): deletes the oldest dead letters beyond the cap, at most so many; answers how many were too many.
-- leave_group(id): what a dead letter that goes held back may run. Needs: job, dead, dead_letter_cap, lib/group/place.
local function leave_group(id)
  local group = redis.pcall('HGET', job .. id, 'group')
  if type(group) == 'string' then
    end_hold(group, id)
  end
end

local function trim_dead_letters(most)
  local excess = redis.call('ZCARD', dead) - dead_letter_cap
  local oldest = excess > 0 and redis.call('ZPOPMIN', dead, math.min(excess, most)) or {}
  for i = 1, #oldest, 2 do
    leave_group(oldest[i])
    redis.call('UNLINK', job .. oldest[i])
  end
  return excess
end
