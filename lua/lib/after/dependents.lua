-- Jobs that start after others. Such a job waits in scheduled with a start that never comes. Its field `after` has the
--   unfinished jobs, on a line each. Each of them has its id in the field `dependents`.
-- update_dependent(id, ended, status): removes an ended job from `after`. After the last one the job may start. After a
--   bad end it must not run (`unmet`). It keeps its place until the next maintenance ends it, see lib/after/end_unmet.
--   So a chain of bad ends costs one bounded step each. The first bad end is final.
-- update_dependents(ids, ended, status): does so for all of them. A carriage return stands for callers that wait for the
--   result. The end for a job of another queue goes into the outbox,
--   once: its first end is final. A line feed before its id distinguishes the job from a batch.
-- is_awaited(dependents): returns whether callers wait for the result of a job with these.
-- Needs: awaiting, batch_outbox, job, scheduled, sequence, lib/core/clock.
local callers = '\r'

local function is_awaited(dependents)
  return dependents and string.find('\n' .. dependents .. '\n', '\n' .. callers .. '\n', 1, true)
end

local function start_dependent(id, due)
  redis.call('HSET', job .. id, 'due_at_ms', due)
  redis.call('ZADD', scheduled, due, id) -- before `after` goes: without both, nothing would start the job
  redis.call('HDEL', job .. id, 'after')
  redis.call('ZREM', awaiting, id)
--@include lib/core/wake
end

local function update_dependent(id, ended, status)
  local after, delay, unmet = unpack(redis.call('HMGET', job .. id, 'after', 'after_delay_ms', 'unmet'))
  local named = '\n' .. (after or '') .. '\n'
  local from, to = string.find(named, '\n' .. ended .. '\n', 1, true)
  if not from or unmet or not redis.call('ZSCORE', scheduled, id) then
    return
  end
  local before, behind = string.sub(named, 2, from - 1), string.sub(named, to + 1, -2)
  local left = before .. (before ~= '' and behind ~= '' and '\n' or '') .. behind
  if status ~= 'completed' then
    redis.call('HSET', job .. id, 'unmet', ended .. ' ' .. status)
    redis.call('ZADD', awaiting, '0', id)
  elseif left == '' then
    start_dependent(id, string.format('%d', now + (tonumber(delay) or 0)))
  else
    redis.call('HSET', job .. id, 'after', left)
  end
end

-- Updates at most a thousand dependents, as many as an enqueue allows. Another program wrote the rest, which is left.
local function update_dependents(ids, ended, status)
  local most = 1000
  for id in string.gmatch(ids, '[^\n]+') do
    most = most - 1
    if most < 0 then
      return
    end
    local tab = string.find(id, '\t', 1, true)
    if id == callers then
      -- The caller looks by itself.
    elseif tab then
      local place = string.sub(id, 1, tab) .. '\n' .. string.sub(id, tab + 1) .. '\t' .. ended
      redis.call('HSETNX', batch_outbox, place, redis.call('INCR', sequence) .. '\n' .. status .. '\n')
    else
      update_dependent(id, ended, status)
    end
  end
end
