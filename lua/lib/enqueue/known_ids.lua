-- The ids that an enqueue finds.
-- look_for(keys): finds out whether a call adds only new jobs, by one command for many.
-- written: the ids that the call added itself. Only these can be known after it was found to add new jobs.
-- is_known(id): returns whether there is such a job.
-- Needs: job.
local written, are_all_new = {}, false

local function look_for(keys)
  local found = 0
  for i = 1, #keys, 1000 do
    found = found + redis.call('EXISTS', unpack(keys, i, math.min(i + 999, #keys)))
  end
  are_all_new = found == 0
end

local function is_known(id)
  if are_all_new then
    return written[id]
  end
  return redis.call('EXISTS', job .. id) == 1
end
