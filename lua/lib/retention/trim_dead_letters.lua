-- trim_dead_letters(most): deletes the oldest dead letters beyond the cap, at most so many; answers how many were too many.
-- Needs: job, dead, dead_letter_cap.
local function trim_dead_letters(most)
  local excess = redis.call('ZCARD', dead) - dead_letter_cap
  local oldest = excess > 0 and redis.call('ZPOPMIN', dead, math.min(excess, most)) or {}
  for i = 1, #oldest, 2 do
    redis.call('UNLINK', job .. oldest[i])
  end
  return excess
end
