#!lua
-- Adds a worker's wait and run times to the open minute. They are lost only by the worker's death, which costs the
-- times of its last seconds.
-- Transition: none
-- KEYS[1] history_open   hash, data of the next entry; `w{bucket}` and `r{bucket}` count wait and run times
-- KEYS[2] history_batch  string, the last batch of this worker
-- ARGV[1] id of the batch; ARGV[2] how long the history is kept, in ms
-- ARGV[3..] field, count
-- Returns 1, or 0 if this batch was added before. Repeated: 0, and nothing changes.
local open, last_batch = KEYS[1], KEYS[2]
local keep = ARGV[2]
if redis.call('GET', last_batch) == ARGV[1] then
  return 0
end
redis.call('SET', last_batch, ARGV[1], 'PX', 600000) -- a lost reply is repeated within seconds
for i = 3, #ARGV, 2 do
  redis.call('HINCRBY', open, ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', open, keep)
return 1
