-- announced: the queue's limits by name, from the last announcement of a worker, in `retention` under the empty field.
--   Empty without an announcement; then the caller's own limits apply. So a process that only enqueues sweeps and
--   cancels as the workers would.
-- Needs: retention.
local announced = {}
for name, limit in string.gmatch(redis.call('HGET', retention, '') or '', '([%l_]+)=(%d+)') do
  announced[name] = tonumber(limit)
end
