#!lua flags=allow-oom
-- Reclaims the claims of one worker whose process has ended, before they expire. The caller has proof of that end. A job
-- goes from processing to pending (at the front, in the old order of the slice), failed or cancelled. A crash counts as an attempt, as
-- in lua/sweep/reclaim. Claims of other workers stay. The worker no longer counts as one that serves the queue.
-- Transition: reclaim
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] worker
-- ARGV[12] the cursor of the last call; '0' to begin. Each claim that stays during all calls is seen, because nobody
--   extends the claims of a dead worker
-- ARGV[13] about how many claims to read; ARGV[14] how long a mark of the history is kept, in ms
-- Returns the next cursor ('0': all claims were read), then for each claim: id, pending | failed | cancelled, and the
--   worker.
-- Repeated: reads the slice again. A reclaimed claim is no longer in it.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/limits/freed_slot
--@include lib/settle/attempt_log
--@include lib/settle/attempt_limits
--@include lib/settle/finish
--@include lib/foreign/name_in_payload
--@include lib/limits/refund
--@include lib/settle/crash
local dead_worker, limit = ARGV[first], ARGV[first + 2]
local keep = tonumber(ARGV[first + 3])
local cursor, found = unpack(redis.call('ZSCAN', claims, ARGV[first + 1], 'COUNT', limit))
local taken, replies, reason = {}, { cursor }, 'worker process ended'
for i = 1, #found, 2 do
  -- An id that is too long is left to lua/sweep/reclaim.
  local status, worker, fence = unpack(#found[i] > 1024 and {} or read(job .. found[i], 'status', 'worker', 'fence'))
  -- Another state is left to lua/sweep/reclaim: the step that ended the claim broke off.
  if status == 'processing' and worker == dead_worker then
    taken[#taken + 1] = { id = found[i], fence = tonumber(fence) or 0 }
  end
end
redis.call('ZREM', workers, dead_worker)
--@include lib/reclaim/crash_claims
return replies
