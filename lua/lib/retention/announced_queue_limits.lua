-- announced: the limits of the queue, by name, as the worker that spoke last announced them, in `retention` under the
-- empty field; empty where none did, and then the caller's own hold. So a process that only enqueues, whose
-- options may be others, sweeps and cancels as the workers would. Needs: keys.
local announced = {}
for name, limit in string.gmatch(redis.call('HGET', retention, '') or '', '([%l_]+)=(%d+)') do
  announced[name] = tonumber(limit)
end
