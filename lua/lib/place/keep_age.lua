-- keep_age(key, ready_at): leaves a job as old as it was before it was put elsewhere. ready_at: what its hash had then; nil where it
-- counts from its enqueue.
local function keep_age(key, ready_at)
  if ready_at then
    redis.call('HSET', key, 'ready_at_ms', ready_at)
  else
    redis.call('HDEL', key, 'ready_at_ms')
  end
end
