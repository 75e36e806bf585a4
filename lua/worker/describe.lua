#!lua flags=allow-oom
-- Stores details of a worker for operators. Deletes those of forgotten workers.
-- Transition: none
-- KEYS[1] workers         sorted set, workers that serve the queue, score = last seen in ms
-- KEYS[2] worker_details  hash, worker -> '{started_at_ms} {JSON}'
-- ARGV[1] worker
-- ARGV[2] JSON, or '' after its stop
-- ARGV[3] how long ago it started, in ms
-- Returns nothing. Repeated: the same.
--@include lib/core/clock
local workers, worker_details = KEYS[1], KEYS[2]
if ARGV[2] == '' then
  redis.call('HDEL', worker_details, ARGV[1])
  return
end
redis.call('HSET', worker_details, ARGV[1], string.format('%.0f', now - tonumber(ARGV[3])) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', worker_details, 600000) -- each worker repeats it every minute
for _, worker in ipairs(redis.call('HRANDFIELD', worker_details, 5)) do
  if worker ~= ARGV[1] and not redis.call('ZSCORE', workers, worker) then
    redis.call('HDEL', worker_details, worker)
  end
end
