-- Returns the error of a key of a wrong type, before the first write of an enqueue with options. Such a job must not be
--   left in no place.
-- Needs: pending, prioritized, scheduled, sequence, stats, wake.
for _, answer in ipairs({ redis.pcall('LLEN', pending), redis.pcall('ZCARD', wake), redis.pcall('HLEN', stats),
  redis.pcall('ZCARD', scheduled), redis.pcall('ZCARD', prioritized), redis.pcall('GET', sequence) }) do
  if type(answer) == 'table' then
    return answer
  end
end
