-- A job that waits for the end of an older one, which it stops. It waits in scheduled, like a job with `after`, and starts
--   however the older one ends. Its field supersedes names that job.
-- open_before(id): returns the job whose end this one waits for; nil if it waits for none. Then whether it has waits or signals.
-- wait_for(id, before, delay): lets a job in scheduled wait for the end of another. delay: in ms from then.
-- add_behind(before, id, name, payload, options): adds a job that waits for the end of another. Returns as add_with_options.
-- Needs: lib/after/depend, lib/core/clock, lib/core/keys, lib/enqueue/add_with_options, lib/retention/retention_args.
--@include lib/core/never
local home = ARGV[first + 3] .. '\t'

local function open_before(id)
  local before, after, waits, signals = unpack(redis.call('HMGET', job .. id, 'supersedes', 'after', 'waits', 'signals'))
  return before and after and before, waits or signals
end

-- Notes the newer job in the older one like a job of another queue. So each script that ends the older one reports that to
-- the outbox, and lua/batch/deliver starts the newer one.
local function wait_for(id, before, delay)
  redis.call('HSET', job .. id, 'after', home .. before, 'after_delay_ms', string.format('%d', delay or 0), 'supersedes', before)
  redis.call('HDEL', job .. id, 'due_at_ms')
  redis.call('ZADD', awaiting, now, id)
  add_dependent(before, redis.call('HGET', job .. before, 'dependents'), home .. id)
end

local function add_behind(before, id, name, payload, options)
  local delay = options.delay_ms
  options.run_at_ms = never_ms
  local verdict, detail, known_name = add_with_options(id, name, payload, options)
  if not verdict then
    wait_for(id, before, delay)
  end
  return verdict, detail, known_name
end
