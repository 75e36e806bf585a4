#!lua flags=allow-oom
-- Takes back expired claims: processing -> pending (at the front, in the old order), failed or cancelled. A crash
-- counts as an attempt; max_attempts and max_crashes of the job decide.
-- After a gap in the sweeps (the server was away, so every claim looks expired) it waits for one heartbeat first.
-- Transition: reclaim
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..9]: retention and limits, see lib/retention/retention_args
-- ARGV[10] the most claims to take back in this call; ARGV[11] a gap, in ms; ARGV[12] the wait after a gap, in ms, where no
--   worker announced the visibility timeout, of which a heartbeat is a third; ARGV[13] how often the caller maintains the
--   queue, in ms, or '' where it only takes claims back
-- Returns more ('1' when expired claims are left), then for each claim: id, pending | failed | cancelled.
-- Repeated: takes the next slice; a claim that was taken back is no longer in claims.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/settle/history
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
local limit, gap = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
local wait = announced.visibility and announced.visibility / 3 or tonumber(ARGV[first + 2])

local last_run_at, hold_until = unpack(redis.call('HMGET', sweep, 'last_run_at_ms', 'hold_until_ms'))
hold_until = tonumber(hold_until) or 0
if last_run_at and now - last_run_at > gap then
  hold_until = now + wait
end
redis.call('HSET', sweep, 'last_run_at_ms', now, 'hold_until_ms', hold_until)
if ARGV[first + 3] ~= '' then
  redis.call('HSET', sweep, 'maintained_at_ms', now, 'every_ms', ARGV[first + 3])
end
if now < hold_until then
  return { '0' }
end

-- Slice by slice from the latest expiry: what was claimed first is put to the front last, also across slices.
local expired = redis.call('ZRANGE', claims, now, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit)
local taken, answers = {}, { #expired == limit and '1' or '0' }
for _, id in ipairs(expired) do
  redis.call('ZREM', claims, id)
  local status, fence, group = unpack(read(job .. id, 'status', 'fence', 'group'))
  -- A hash that is gone leaves a dead letter that says so; one that is in another state already is only forgotten here.
  if status == 'processing' or not status then
    taken[#taken + 1] = { id = id, fence = tonumber(fence) or 0 }
  elseif group then
    free_slot(group, id)
  end
end
-- The job claimed first must be claimed first again, so it is put to the front last.
table.sort(taken, function(a, b) return a.fence > b.fence end)
for _, claim in ipairs(taken) do
  answers[#answers + 1], answers[#answers + 2] = claim.id, crash(claim.id, 'claim expired')
end
place_groups()
if #taken > 0 then
  wake_for_slot()
end
return answers
