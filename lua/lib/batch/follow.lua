-- follow(id, options): makes a new job a member of its batch. Lets it wait for the jobs of its `after`. Returns whether
--   it may start by its own options, because all that it waits for have ended.
-- Needs: awaiting, batch_record, job, remote_members, scheduled, lib/after/depend, lib/batch/join, lib/core/clock.
--@include lib/core/never

-- Returns whether a job of another queue must still complete. Its end may have come first: it was asked before this enqueue.
local function is_open_elsewhere(id, before)
  local early = batch_record .. id .. '/early'
  local ended = redis.call('HGET', early, before)
  if ended then
    redis.call('HDEL', early, before)
  end
  return ended ~= 'completed', ended and before .. ' ' .. ended
end

local function is_open(id, before)
  local status, dependents = status_of(before)
  local add = status == 'completed' and add_reader or add_dependent
  add(before, dependents, id)
  return status ~= 'completed'
end

local function wait_after(id, options)
  local open, unmet = {}, nil
  for _, each in ipairs(options.after) do
    local look = string.find(each, '\t', 1, true) and is_open_elsewhere or is_open
    local must_complete, bad_end = look(id, each)
    if must_complete then
      open[#open + 1] = each
      unmet = unmet or bad_end
    end
  end
  if #open == 0 then
    return true
  end
  redis.call('HSET', job .. id, 'after', table.concat(open, '\n'), 'after_delay_ms',
    string.format('%d', options.delay_ms or 0), 'status', 'scheduled')
  redis.call('ZADD', scheduled, string.format('%d', never_ms), id)
  redis.call('ZADD', awaiting, unmet and '0' or now, id)
  if unmet then
    redis.call('HSET', job .. id, 'unmet', unmet) -- the next maintenance ends it
  end
  return false
end

local function follow(id, options)
  if options.batch and string.find(options.batch, '\t', 1, true) then
    redis.call('HSET', remote_members, id, options.batch)
  elseif options.batch and join(options.batch, id) then
    redis.call('HSET', job .. id, 'cancel_requested_at_ms', now_text)
  end
  return not options.after or wait_after(id, options)
end
