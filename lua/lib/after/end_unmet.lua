-- end_unmet(id, unmet): ends a job that must not run, because a job of its `after` did not end well. It becomes a dead
--   letter, or is cancelled if that was requested. Returns how many jobs wait for it in turn.
-- unmet: the id of that job, a blank, and its end.
-- The job leaves scheduled last. If the step breaks off, the next maintenance finishes its end.
-- Needs: reply, lib/core/keys, lib/core/read, lib/settle/finish, lib/settle/finish_broken_end.
local bad_ends = { removed = 'was deleted', cancelled = 'was cancelled', failed = 'failed' }

local function end_unmet(id, unmet)
  local status, cancel, dependents = unpack(read(job .. id, 'status', 'cancel_requested_at_ms', 'dependents'))
  if status ~= 'scheduled' then
    if not finish_broken_end(id, status) then
      return 0
    end
  elseif cancel then
    end_cancelled(id)
  else
    redis.call('HSETNX', job .. id, 'fence', string.format('%d', redis.call('INCR', sequence))) -- a repeat names the same failure job
    local before, how = string.match(unmet, '^(.+) (%l+)$')
    local queue, other = string.match(before, '^(.-)\t(.+)$')
    bury(id, 'Job ' .. (other and other .. ' of the queue "' .. queue .. '"' or before) .. ', after which this job was to start, ' .. (bad_ends[how] or 'failed')
      .. '. Redrive this job to run it without waiting.', '@unmet')
    redis.call('HDEL', job .. id, 'after')
    reply[3][#reply[3] + 1] = id
  end
  redis.call('ZREM', scheduled, id)
  redis.call('ZREM', awaiting, id)
  return select(2, string.gsub(dependents or '', '[^\n]+', ''))
end
