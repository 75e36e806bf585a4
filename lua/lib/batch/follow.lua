-- follow(id, options): makes a new job a member of its batch. Lets it wait for the jobs of its `after`. Returns whether
--   it may start by its own options, because all that it waits for have ended.
-- Needs: awaiting, batch_guests, job, scheduled, lib/batch/join, lib/core/clock, lib/enqueue/leave_plain.
local never = '253402300799000' -- the score of a start that never comes: the year 9999

local function wait_after(id, options)
  local open = {}
  for _, each in ipairs(options.after) do
    local status, dependents = unpack(redis.call('HMGET', job .. each, 'status', 'dependents'))
    if status ~= 'completed' then
      open[#open + 1] = each
      redis.call('HSET', job .. each, 'dependents', (dependents and dependents .. '\n' or '') .. id)
      leave_plain(job .. each) -- its end is sent with all keys
    end
  end
  if #open == 0 then
    return true
  end
  redis.call('HSET', job .. id, 'after', table.concat(open, '\n'), 'after_delay_ms', options.delay_ms or 0, 'status', 'scheduled')
  redis.call('ZADD', scheduled, never, id)
  redis.call('ZADD', awaiting, now, id)
  return false
end

local function follow(id, options)
  if options.batch and string.find(options.batch, '\t', 1, true) then
    redis.call('HSET', batch_guests, id, options.batch)
  elseif options.batch and join(options.batch, id) then
    redis.call('HSET', job .. id, 'cancel_requested_at_ms', now)
  end
  return not options.after or wait_after(id, options)
end
