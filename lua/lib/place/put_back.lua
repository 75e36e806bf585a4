-- Puts the taken ids from `from` on back where they were, in their old order, and removes them from taken. It is not a function,
-- because a function would bind its outside variables.
-- Needs: from, job, pending, prioritized, taken.
for i = #taken, from, -1 do
  local rank = redis.pcall('HGET', job .. taken[i], 'rank') -- an error here would lose the claimed ids
  if type(rank) == 'string' then
    redis.call('ZADD', prioritized, rank, taken[i])
  else
    redis.call('RPUSH', pending, taken[i])
  end
  taken[i] = nil
end
