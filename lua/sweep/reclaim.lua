#!lua flags=allow-oom
-- Reclaims expired claims: processing -> pending (at the front, in the old order), failed or cancelled. A crash counts
-- as an attempt. max_attempts and max_crashes of the job decide. After a gap in the sweeps it first waits for one
-- heartbeat. Such a gap means that the server was away, so every claim looks expired. After three such waits that no
-- sweep outlived it does not wait, because then the sweeping processes die. A claim beyond the longest
-- visibility timeout expires after a heartbeat, because a clock that was ahead has made it. A live worker extends it.
-- Transition: reclaim
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..9]: retention and limits, see lib/retention/retention_args
-- ARGV[10] the most claims to reclaim in this call
-- ARGV[11] a gap, in ms
-- ARGV[12] the wait after a gap in ms, unless a worker announced the visibility timeout, of which a heartbeat is a
--   third
-- ARGV[13] the interval of the caller's maintenance in ms, or '' if it only reclaims
-- Returns more ('1' if expired claims are left), then for each claim: id, pending | failed | cancelled, and the worker,
--   '' if it is unknown.
-- Repeated: reclaims the next slice, because a reclaimed claim is no longer in claims.
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
--@include lib/core/name_in_payload
--@include lib/limits/refund
--@include lib/settle/crash
--@include lib/settle/count_completed
--@include lib/settle/finish_broken_end
local broken_ms, limit = 60000, tonumber(ARGV[first])

do -- a block of its own, because a script has at most 200 local names
--@include lib/core/longest_visibility
--@include lib/core/bring_back
  local most_holds = 3

  -- Notes this run. Returns whether the sweep waits, because the server was away.
  local function is_held()
    local gap, wait = tonumber(ARGV[first + 1]), announced.visibility and announced.visibility / 3 or tonumber(ARGV[first + 2])
    local last_run_at, hold_until, holds = unpack(redis.call('HMGET', sweep, 'last_run_at_ms', 'hold_until_ms', 'holds'))
    hold_until, holds = tonumber(hold_until) or 0, tonumber(holds or nil) or 0
    local latest = now + math.max(longest_visibility(), broken_ms) + wait
    local is_after_gap = last_run_at and now - last_run_at > gap
    if is_after_gap and holds < most_holds or hold_until > latest then
      hold_until, holds = now + wait, holds + 1
    end
    bring_back(claims, latest, now + wait, limit)
    redis.call('HSET', sweep, 'last_run_at_ms', now, 'hold_until_ms', hold_until, 'holds', now < hold_until and holds or 0)
    if ARGV[first + 3] ~= '' then
      redis.call('HSET', sweep, 'maintained_at_ms', now, 'every_ms', ARGV[first + 3])
    end
    return now < hold_until
  end
  if is_held() then
    return { '0' }
  end
end

-- Goes from the latest expiry on. So the first claimed job is put to the front last, also across slices.
local expired = redis.call('ZRANGE', claims, now, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit)
local taken, ended, replies = {}, {}, { #expired == limit and '1' or '0' }
for _, id in ipairs(expired) do
  local status, fence, group = unpack(read(job .. id, 'status', 'fence', 'group'))
  -- A missing hash leaves a dead letter with that reason. In another state the step that ended the claim broke off.
  if status == 'processing' or not status then
    taken[#taken + 1] = { id = id, fence = tonumber(fence) or 0 }
  else
    if group then
      free_slot(group, id)
    end
    ended[#ended + 1] = { id = id, status = status, is_finished = finish_broken_end(id, status) }
  end
end
-- The job claimed first must be claimed first again, so it is put to the front last.
table.sort(taken, function(a, b) return a.fence > b.fence end)
for _, claim in ipairs(taken) do
  local n = #replies
  replies[n + 1], replies[n + 2], replies[n + 3] = claim.id, crash(claim.id, 'claim expired')
end
place_groups()
-- The claims go last: if a step breaks off, the next reclaim finds the jobs.
for _, claim in ipairs(taken) do
  redis.call('ZREM', claims, claim.id)
end
for _, claim in ipairs(ended) do
  if claim.is_finished and close_end(claim.id, claim.status) then
    redis.call('ZREM', claims, claim.id)
  else
    redis.call('ZADD', claims, now + broken_ms, claim.id) -- the claim stays until the keys are repaired
  end
end
if #taken > 0 then
  wake_for_slot()
end
return replies
