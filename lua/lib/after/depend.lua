-- refusal_after(status, dependents, waiting): returns why a job cannot wait for a job with these fields, or nil.
-- add_dependent(id, dependents, waiting): notes that a job waits for this one, whose end is then sent with all keys.
-- waiting: its id. For a job of another queue it is the queue, a tab and the id.
-- Needs: job, lib/enqueue/leave_plain.
local most_dependents = 1000

local function has_dependent(dependents, waiting)
  return dependents and string.find('\n' .. dependents .. '\n', '\n' .. waiting .. '\n', 1, true)
end

local function refusal_after(status, dependents, waiting)
  if not status then
    return 'unknown'
  elseif status == 'failed' or status == 'cancelled' then
    return status
  end
  local _, count = string.gsub(dependents or '', '[^\n]+', '')
  return count >= most_dependents and not has_dependent(dependents, waiting) and 'crowded' or nil
end

local function add_dependent(id, dependents, waiting)
  if not has_dependent(dependents, waiting) then
    redis.call('HSET', job .. id, 'dependents', (dependents and dependents .. '\n' or '') .. waiting)
  end
  leave_plain(job .. id)
end
