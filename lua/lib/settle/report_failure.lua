-- report_failure(id, reason, found_name): enqueues the failure job of a dead letter, @failed:{id}:{fence}. Does so if a
--   worker announced a handler for the failures of its name within a day. The same step makes the dead letter, so no
--   crash loses a failure and none occurs twice.
-- found_name: the name of a job without one in its hash.
-- The failure job has a priority, so that no client of the Redis pattern takes it. Its own failure has no failure job.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read, lib/place/requeue.
--@include lib/core/count
--@include lib/core/write_job
local failure_handler_ms = 86400000

local function report_failure(id, reason, found_name)
  local name, payload, attempts, fence = unpack(read(job .. id, 'name', 'payload', 'attempts', 'fence'))
  name = name or found_name
  local teller = '@failed:' .. (name or '')
  local announced_at = redis.call('ZSCORE', names, teller)
  if not announced_at or tonumber(announced_at) < now - failure_handler_ms then
    return
  end
  local telling = '@failed:' .. id .. ':' .. (fence or now_text)
  -- The payload as text, since a script decodes none.
  write_job(telling, teller, cjson.encode({ id = id, name = name or nil, error = reason, attempts = attempts or '0',
    failedAtMs = now_text, payload = payload or nil }))
  redis.call('HSET', job .. telling, 'priority', '1', 'options', '{}')
  to_back(telling, '1')
  count('enqueued_total', 1)
end
