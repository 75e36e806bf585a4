#!lua
-- Takes a scheduler out of a queue of BullMQ or Bull, and keeps its definition until its schedule is created. Its next job
--   stays, and moves like the other jobs. Workers add no further job, because the scheduler is gone.
-- Transition: none
-- KEYS[1] repeating    sorted set: the next time of each scheduler, in ms
-- KEYS[2] definition   hash of the scheduler, of BullMQ
-- KEYS[3] schedulers   hash: the schedulers in transit
-- KEYS[4] mover        hash
-- ARGV[1] fence        of this mover
-- ARGV[2] id           of the scheduler
-- ARGV[3] next_ms      its next time, as the mover saw it
-- ARGV[4] kept         what the mover needs to create the schedule
-- Returns 1 if it took the scheduler, 0 if that has changed or is gone, -1 if another mover has taken over.
-- Repeated: returns 0.
local repeating, definition, schedulers, mover = unpack(KEYS)
local fence, id, next_ms, kept = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', mover, 'fence') ~= fence then
  return -1
end
local found = redis.call('ZSCORE', repeating, id)
if not found or tonumber(found) ~= tonumber(next_ms) then
  return 0
end
redis.call('HSET', schedulers, id, kept)
redis.call('ZREM', repeating, id)
redis.call('UNLINK', definition)
return 1
