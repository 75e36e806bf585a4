-- Returns the error of a key of a wrong type, before the first write of an enqueue with options. Such a job must not be
--   left in no place.
-- Needs: pending, prioritized, scheduled, sequence, stats, wake.
for _, read_key in ipairs({ { 'LLEN', pending }, { 'ZCARD', wake }, { 'HLEN', stats }, { 'ZCARD', scheduled },
  { 'ZCARD', prioritized }, { 'GET', sequence } }) do
  local answer = redis.pcall(unpack(read_key))
  if type(answer) == 'table' then
    return answer
  end
end
