-- held_by_groups(waiting): returns how many of the waiting jobs in groups are held back.
-- Needs: groups.
-- Waiting jobs of groups that may start none: paused, held by a job, or at a limit.
local function held_by_groups(waiting)
  local plain = waiting > 0 and redis.call('ZSCORE', groups .. 'turns', '') and 1 or 0
  return waiting > 0 and redis.call('ZCARD', groups .. 'turns') == plain and waiting or 0
end
