-- trim_dead_letters(most): deletes up to `most` of the oldest dead letters beyond the cap, and returns how many were
--   too many. Jobs that such a dead letter held back may run.
-- Needs: job, dead, dead_letter_cap, lib/group/place.
local function trim_dead_letters(most)
  local excess = redis.call('ZCARD', dead) - dead_letter_cap
  local oldest = excess > 0 and redis.call('ZPOPMIN', dead, math.min(excess, most)) or {}
  for i = 1, #oldest, 2 do
    end_hold_of(oldest[i])
    redis.call('UNLINK', job .. oldest[i])
  end
  return excess
end
