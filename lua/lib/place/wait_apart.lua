-- wait_apart(id, due, group): puts a job whose claim has ended into scheduled, until due in ms. It holds its group back where that runs
-- one job at a time. group: nil for none.
-- Needs: lib/group/slot, lib/place/requeue.
local function wait_apart(id, due, group)
  to_later(id, due)
  if group then
    hold_group(group, id)
  end
end
