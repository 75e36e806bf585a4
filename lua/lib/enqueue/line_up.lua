-- Puts plain jobs into pending, counts them, and wakes a worker. If a key has a wrong type, it takes back all writes
--   and returns the error. It is not a function, because a function would bind its outside variables.
-- Needs: added, job, pending, plain, stats, wake.
local number = added == 1 and '1' or string.format('%d', added)
local failure, pushed, counted = redis.pcall('LPUSH', pending, unpack(plain)), false, false
if type(failure) == 'number' then
  failure, pushed = redis.pcall('HINCRBY', stats, 'enqueued_total', number), true
  if type(failure) == 'table' and string.sub(failure.err, 1, 9) ~= 'WRONGTYPE' then
    failure = 0 -- see lib/core/count, which is a function that a plain job does not pay for
  end
end
if pushed and type(failure) == 'number' then
  failure, counted = redis.pcall('ZADD', wake, '0', '1'), true
--@cluster lib/waiters/wake
end
if type(failure) ~= 'number' then
  for _, id in ipairs(plain) do
    redis.call('UNLINK', job .. id)
    if pushed then
      redis.call('LREM', pending, 1, id)
    end
  end
  if counted then
    redis.call('HINCRBY', stats, 'enqueued_total', '-' .. number)
  end
  return failure
end
