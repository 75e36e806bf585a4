-- Takes the worker out of the queue's waiters that waits longest, and publishes to its channel. The next one follows if
-- that has no receiver: its process is gone. So dead waiters disappear, and the loop stays bounded. Only for a Cluster,
-- before the marker of lib/core/wake. Nothing here may fail, because the script has written before.
-- Needs: wake.
for _ = 1, 128 do
  local waiter = redis.pcall('ZPOPMIN', string.sub(wake, 1, -5) .. 'waiters')[1]
  if not waiter or redis.pcall('SPUBLISH', wake .. ':' .. waiter, 'wake') ~= 0 then
    break
  end
end
