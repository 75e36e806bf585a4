-- cost_of(id): returns the cost of a job. It is held within the bounds of an enqueue, because another client may have
--   spoilt it; nan becomes 1.
-- Needs: job.
local function cost_of(id)
  local cost = redis.pcall('HGET', job .. id, 'cost')
  return math.floor(math.min(1e6, math.max(1, type(cost) == 'string' and tonumber(cost) or 1)))
end
