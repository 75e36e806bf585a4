#!lua flags=allow-oom
-- Reclaims expired claims: processing -> pending (at the front, in the old order), failed or cancelled. A crash counts
-- as an attempt. max_attempts and max_crashes of the job decide. After a gap in the sweeps it first waits until
-- live workers have connected again, and for one heartbeat. Such a gap means that the server was away, so every claim looks
-- expired. After three such waits that no sweep outlived it does not wait, because then the sweeping processes die. A
-- caller that has met an outage shorter than a gap waits too. A claim beyond the longest
-- visibility timeout expires after a heartbeat, because a clock that was ahead has made it. A live worker extends it.
-- Transition: reclaim
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] the most claims to reclaim in this call
-- ARGV[12] a gap, in ms
-- ARGV[13] a heartbeat in ms, unless a worker announced the visibility timeout, of which a heartbeat is a third
-- ARGV[14] the interval of the caller's maintenance in ms, or '' if it only reclaims
-- ARGV[15], ARGV[16] the first and the last of the caller's looks at this queue in ms, none of which came later than a
--   gap after the one before. They show that the server was there, if maintenance found no work before. '' for none
-- ARGV[17] how long ago the caller met an outage of the server in ms, such as a lost connection; '' for none
-- ARGV[18] how long a mark of the history is kept, in ms
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
--@include lib/foreign/name_in_payload
--@include lib/limits/refund
--@include lib/settle/crash
--@include lib/settle/finish_broken_end
local broken_ms, limit = 60000, tonumber(ARGV[first])
local keep = tonumber(ARGV[first + 7])

--@include lib/reclaim/hold_after_gap
--@include lib/reclaim/expired_claims
if is_held() then
  return { '0' }
end

local taken, ended, is_more = expired_claims(limit)
local replies, reason = { is_more and '1' or '0' }, 'claim expired'
--@include lib/reclaim/crash_claims
close_ended(ended)
return replies
