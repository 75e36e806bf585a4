-- keep_age(key, ready_at): leaves a moved job's age as it was.
-- ready_at: the hash's value before the move; nil if the age counts from its enqueue
local function keep_age(key, ready_at)
  if ready_at then
    redis.call('HSET', key, 'ready_at_ms', ready_at)
  else
    redis.call('HDEL', key, 'ready_at_ms')
  end
end
