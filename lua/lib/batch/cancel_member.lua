-- cancel_member(id): cancels a waiting job, without a turn and without a rate. A running job is notified at once.
--   Finding an id in pending is O(its length), so a script scans this many entries. The current claim ends the others.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read, lib/place/remove_waiting, lib/settle/finish.
local entries_left = 200000

local function leave_line(id)
  if remove_sorted(id) then
    return true
  end
  entries_left = entries_left - redis.call('LLEN', pending)
  return entries_left >= 0 and redis.call('LREM', pending, 1, id) > 0
end

local function cancel_member(id)
  local status, worker, token = unpack(read(job .. id, 'status', 'worker', 'claim_token'))
  if status ~= 'pending' and status ~= 'scheduled' and status ~= 'processing' then
    return
  end
  if status ~= 'processing' and leave_line(id) then
    return end_cancelled(id)
  end
  redis.call('HSETNX', job .. id, 'cancel_requested_at_ms', now_text)
  if worker and token and token ~= '' then
    redis.call('ZADD', nudge .. worker, 1, 'cancel')
    redis.call('PEXPIRE', nudge .. worker, 10000)
  end
end
