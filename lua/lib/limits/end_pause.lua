-- end_pause(name, group): removes the pause of a group whose time is over. Until then it holds the group back as a rest does.
-- group: by read_group of lib/group/state.
-- Needs: groups, lib/core/clock.
local function end_pause(name, group)
  if group.paused_until > 0 and group.paused_until <= now then
    local key = groups .. 'state:' .. name
--@include lib/limits/drop_pause
  end
end
