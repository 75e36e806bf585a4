#!lua flags=no-writes,allow-oom
-- Returns the workers with a recent announcement, the latest first.
-- KEYS[1] workers         sorted set, workers that serve the queue, score = last seen in ms
-- KEYS[2] worker_details  hash, worker -> '{started_at_ms} {JSON}'
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms; ARGV[2] the most workers
-- Returns for each worker its id, when it was seen, and its words ('' for none). Repeated: looks again.
--@include lib/core/clock
--@include lib/worker/live_workers
local workers, worker_details = KEYS[1], KEYS[2]
return live_workers(workers, worker_details, tonumber(ARGV[1]), ARGV[2])
