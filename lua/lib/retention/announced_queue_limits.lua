-- announced: the queue's limits by name, from the last announcement of a worker, in `retention` under the empty field.
--   Empty without an announcement; then the caller's own limits apply. So a process that only enqueues sweeps and
--   cancels as the workers would.
-- Needs: retention.
local announced, announcement = {}, redis.call('HGET', retention, '') or ''
if #announcement > 4096 then -- no worker announces as much, and the pattern is slow on a long text without =
  redis.call('HDEL', retention, '')
  announcement = ''
end
for name, limit in string.gmatch(announcement, '([%l_]+)=(%d+)') do
  announced[name] = tonumber(limit)
end
