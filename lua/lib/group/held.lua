-- held_by_groups(waiting): how many of so many jobs in the lines of groups are held back. Needs: groups.
-- Jobs in the lines of groups, where no group may start one: paused, held by a job, or at a limit.
local function held_by_groups(waiting)
  local plain = waiting > 0 and redis.call('ZSCORE', groups .. 'turns', '') and 1 or 0
  return waiting > 0 and redis.call('ZCARD', groups .. 'turns') == plain and waiting or 0
end
