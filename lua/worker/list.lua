#!lua flags=no-writes,allow-oom
-- Returns the workers with a recent announcement, the latest first.
-- KEYS[1] workers         sorted set, workers that serve the queue, score = last seen in ms
-- KEYS[2] worker_details  hash, worker -> '{started_at_ms} {JSON}'
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms; ARGV[2] the most workers
-- Returns for each worker its id, when it was seen, and its words ('' for none). Repeated: looks again.
--@include lib/core/clock
local workers, worker_details = KEYS[1], KEYS[2]
local since = string.format('%.0f', now - tonumber(ARGV[1]))
local found = redis.call('ZRANGE', workers, now_text, since, 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local reply = {}
for i = 1, #found, 2 do
  reply[#reply + 1] = { found[i], found[i + 1], redis.call('HGET', worker_details, found[i]) or '' }
end
return reply
