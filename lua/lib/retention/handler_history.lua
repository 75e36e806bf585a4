-- Members of `histories`, where the jobs of handlers with limits of their own stand once they have ended: the state (none
-- for completed), the name as JSON, the time of the end and the id, so that their order is their age.
-- leave_history(id): its job leaves before its time, and counts no more. Needs: job, histories, read, own_retention.
local ended_at = { completed = 'completed_at_ms', cancelled = 'cancelled_at_ms', failed = 'failed_at_ms' }

-- JSON text ends in its quote, so that no name begins another's members.
local function handler_group(state, own)
  return (state == 'completed' and '' or state .. ' ') .. own.json .. ' '
end

local function leave_history(id)
  local name, status = unpack(read(job .. id, 'name', 'status'))
  local own = ended_at[status] and retention_of(name)
  if own then
    local at = redis.call('HGET', job .. id, ended_at[status]) or ''
    redis.call('ZREM', histories, handler_group(status, own) .. at .. ' ' .. id)
  end
end
