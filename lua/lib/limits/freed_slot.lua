-- wake_for_slot(): wakes a worker for the slot that a claim has left, where the queue limits how many of its jobs run.
-- Needs: settings, lib/place/requeue.
local function wake_for_slot()
  if redis.call('HEXISTS', settings, 'max_running') == 1 then
    wake_one()
  end
end
