#!lua flags=allow-oom
-- Releases unfinished jobs, their attempt uncounted: processing -> pending (at the front, in the old order) or
-- scheduled. Reasons: a shutdown (interruption), a snooze, or a name without a handler in this worker (unhandled). Or a
-- limit that the handler met (rate_limited), or a refusal by the state of Redis (outage). For both its group rests, or the
-- queue if the job has no group. Or a wait for a signal or a sleep (wait), see docs/internals/signals.md. Or its key of a limit has
-- no free permit (permit). Then the claim counts as not made, and the group rests. A job that was
-- snoozed, or met a limit, too often is a dead letter. An unhandled job keeps its place and its age.
-- Transition: release
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11..] for each job: id, token, fence, reason (interruption, snooze, rate_limited, unhandled, outage, wait, permit), delay, name,
--   unstarted, most, message, error
--   delay: in ms; for rate_limited, outage and permit how long the group or the queue rests
--   name: for unhandled, if the hash has none, the name that the worker found in the payload; else ''
--   unstarted: '1' if its handler was never called, so its cost is refunded to the rates
--   most, message, error: for snooze and rate_limited how often the job may be released so, and the message and the
--     error (JSON) beyond that; for outage only the error; else ''
-- Returns, for each job: released | failed | cancelled | lost.
-- Repeated: the token is empty and the fence equal, or the attempt_log has the fence. So it counts as done and changes
--   nothing.
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
--@include lib/settle/attempt_log
--@include lib/settle/finish
--@include lib/settle/release
--@include lib/limits/refund
--@include lib/limits/freed_slot

local replies, current_claims, claim_of = {}, {}, {}
for i = first, #ARGV, 10 do
  local id, token, fence = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local current, last_fence, status = unpack(read(job .. id, 'claim_token', 'fence', 'status'))
  local index = #replies + 1
  replies[index] = 'lost'
  if current == token and status == 'processing' then
    local claim = claim_of[id]
    if not claim then
      claim = { id = id, fence = tonumber(fence), reason = ARGV[i + 3], delay = tonumber(ARGV[i + 4]), name = ARGV[i + 5],
        unstarted = ARGV[i + 6] == '1', most = tonumber(ARGV[i + 7]), message = ARGV[i + 8], error = ARGV[i + 9],
        indexes = {} }
      claim_of[id], current_claims[#current_claims + 1] = claim, claim
    end
    claim.indexes[#claim.indexes + 1] = index
  elseif current == '' and last_fence == fence then
    replies[index] = first_outcome[status] or 'lost'
  elseif counters[logged_outcome(id, fence)] then
    replies[index] = 'released' -- and claimed again since
  end
end
-- The job claimed first must be claimed first again, so it is put to the front last.
table.sort(current_claims, function(a, b) return a.fence > b.fence end)
for _, claim in ipairs(current_claims) do
  if claim.unstarted then
    refund_all(claim.id)
    redis.call('HDEL', job .. claim.id, 'unstarted:' .. string.format('%d', claim.fence))
  end
  local reply = release(claim)
  for _, index in ipairs(claim.indexes) do
    replies[index] = reply
  end
end
place_groups()
-- The claims go last: if a step breaks off, the next reclaim finds the jobs.
for _, claim in ipairs(current_claims) do
  redis.call('ZREM', claims, claim.id)
end
if #current_claims > 0 then
  wake_for_slot()
end
return replies
