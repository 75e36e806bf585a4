-- Puts plain jobs into pending, counts them, and wakes a worker. If a key has a wrong type, it takes back all writes
--   and returns the error. It is not a function, because a function would bind its outside variables.
-- Needs: added, job, pending, plain, stats, wake.
local number = added == 1 and '1' or string.format('%d', added)
local failure, pushed, counted = redis.pcall('LPUSH', pending, unpack(plain)), false, false
if type(failure) == 'number' then
  failure, pushed = redis.pcall('HINCRBY', stats, 'enqueued_total', number), true
end
-- A counter that is not a number holds up no job. lib/core/count says so too, but is a function, which costs more.
if pushed and (type(failure) == 'number' or string.sub(failure.err, 1, 9) ~= 'WRONGTYPE') then
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
    redis.pcall('HINCRBY', stats, 'enqueued_total', '-' .. number)
  end
  return failure
end
