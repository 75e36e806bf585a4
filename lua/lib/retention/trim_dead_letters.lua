-- trim_dead_letters(most): deletes up to `most` of the oldest dead letters beyond the cap, and returns how many were
--   too many. Jobs that such a dead letter held back may run. Their number is counted for good, and until the next
--   tidy reports it, see lib/retention/report_dropped.
-- Needs: dead_letter_cap, lib/core/clock, lib/core/keys.
--@include lib/core/count
--@include lib/retention/delete_dead_letter
local function trim_dead_letters(most)
  local excess = redis.call('ZCARD', dead) - dead_letter_cap
  local oldest = excess > 0 and redis.call('ZPOPMIN', dead, math.min(excess, most)) or {}
  local dropped = 0
  for i = 1, #oldest, 2 do
    dropped = dropped + delete_dead_letter(oldest[i])
  end
  if dropped > 0 then
    count('dropped_total', dropped)
    redis.call('HINCRBY', sweep, 'dropped', dropped)
    redis.call('HSET', sweep, 'dropped_at_ms', now_text)
  end
  return excess
end
