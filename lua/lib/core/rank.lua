-- next_rank(priority, number): returns the score at the end of the line of one priority. Lower ranks are claimed first, so a
-- higher priority comes first and jobs of one priority keep their order. Exact up to 2^40 jobs. An invalid priority
-- counts as 0. The number is that of the job in the sequence, by default the next one.
-- Needs: sequence.
local function next_rank(priority, number)
  return string.format('%d', (tonumber(priority) or 0) * -2 ^ 40 + (number or redis.call('INCR', sequence)))
end
