-- wake_for_slot(): wakes a worker for the slot that an ended claim leaves, if the queue limits its running jobs.
-- Needs: lib/core/keys, lib/place/requeue.
local function wake_for_slot()
  if redis.call('HEXISTS', settings, 'max_running') == 1 then
    wake_one()
  end
end
