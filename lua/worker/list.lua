#!lua flags=no-writes,allow-oom
-- Returns the workers with a recent announcement, the latest first. On request it adds silent workers, with the number of jobs
-- that each holds. It reads claims only if a worker is silent: the thousand that expire first, because nobody extends the
-- claims of a dead worker.
-- KEYS[1] workers         sorted set, workers that serve the queue, score = last seen in ms
-- KEYS[2] worker_details  hash, worker -> '{started_at_ms} {JSON}'
-- KEYS[3] claims          sorted set, score = when the claim expires in ms
-- KEYS[4] job             prefix of the job hashes
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms; ARGV[2] the most workers
-- ARGV[3] how long ago a silent worker may have been seen and is listed, in ms; '' to list none
-- Returns for each worker its id, when it was seen, and its details ('' for none). A silent worker also has the number of
-- jobs that it holds. Repeated: reads again.
--@include lib/core/clock
--@include lib/worker/live_workers
local workers, worker_details, claims, job = unpack(KEYS)
local live_since = now - tonumber(ARGV[1])
local found = live_workers(workers, worker_details, tonumber(ARGV[3]) or tonumber(ARGV[1]), ARGV[2])
local silent = {}
for _, worker in ipairs(found) do
  if tonumber(worker[2]) < live_since then
    worker[4], silent[worker[1]] = 0, worker
  end
end
for _, id in ipairs(next(silent) and redis.call('ZRANGE', claims, 0, 999) or {}) do
  local holder = silent[redis.call('HGET', job .. id, 'worker') or '']
  if holder then
    holder[4] = holder[4] + 1
  end
end
return found
