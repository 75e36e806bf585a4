-- attempt_limits(id): returns max_attempts and max_crashes of a job: its own, else its handler's as workers announced
--   them, else the queue's. So a replica without the handler decides like one with it. The handler of every name is `*`.
-- Needs: lib/core/keys, lib/core/read, lib/retention/retention_args.
local function attempt_limits(id)
  local name, max_attempts, max_crashes = unpack(read(job .. id, 'name', 'max_attempts', 'max_crashes'))
  local of_name, of_any = unpack(redis.call('HMGET', handler_limits, name or '', '*'))
  local handler_attempts, handler_crashes = string.match(of_name or of_any or '', '^(%d+):(%d+)$')
  return tonumber(max_attempts) or tonumber(handler_attempts) or default_max_attempts,
    tonumber(max_crashes) or tonumber(handler_crashes) or default_max_crashes
end
