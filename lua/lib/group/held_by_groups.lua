-- held_by_groups(waiting): returns how many of the waiting jobs in groups wait for a pause, a hold, or a limit.
-- Needs: lib/core/keys.
local function held_by_groups(waiting)
  local plain = waiting > 0 and redis.call('ZSCORE', groups .. 'turns', '') and 1 or 0
  return waiting > 0 and redis.call('ZCARD', groups .. 'turns') == plain and waiting or 0
end
