-- count(field, by): adds to a counter of the queue. A counter that is not a number, or too large, holds up no job. It stays
--   as it is, and the doctor reports it. Raises an error if stats is no hash.
-- Needs: stats.
local function count(field, by)
  local counted = redis.pcall('HINCRBY', stats, field, by)
  if type(counted) == 'table' and string.sub(counted.err, 1, 9) == 'WRONGTYPE' then
    error(counted)
  end
end
