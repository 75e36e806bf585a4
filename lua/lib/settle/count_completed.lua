-- count_completed(ids): counts completed jobs and adds them to the history, or does neither. Its caller removes their claims
--   next. So a completed job that still has its claim is in neither.
-- Returns the length of the history.
-- Needs: completed, stats.
local function count_completed(ids)
  redis.call('HINCRBY', stats, 'completed_total', #ids == 1 and '1' or string.format('%d', #ids))
  local length = redis.pcall('LPUSH', completed, unpack(ids))
  if type(length) == 'table' then
    redis.call('HINCRBY', stats, 'completed_total', string.format('-%d', #ids))
    error(length)
  end
  return length
end
