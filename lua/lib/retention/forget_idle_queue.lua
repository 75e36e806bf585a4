-- forget_what_is_idle(): where nobody serves the queue and no job is left, the sweep's memory and what the workers
-- announced are of use to nobody. Needs: keys.
local function forget_what_is_idle()
  local used = redis.call('EXISTS', pending, prioritized, scheduled, claims, processing, dead, completed, cancelled,
    workers, ticks)
  if used == 0 then
    redis.call('UNLINK', sweep, foreign, policies, retention, wake, histories)
  end
end
