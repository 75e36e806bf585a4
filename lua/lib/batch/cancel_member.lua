-- cancel_member(id): asks for the cancel of a job. A running one is told at once, a delayed one becomes due; one that waits in line is
-- not searched for: the claim whose turn it is ends it. Needs: job, scheduled, wake, nudge, now, read.
local function cancel_member(id)
  local status, worker, token = unpack(read(job .. id, 'status', 'worker', 'claim_token'))
  if status ~= 'pending' and status ~= 'scheduled' and status ~= 'processing' then
    return
  end
  redis.call('HSETNX', job .. id, 'cancel_requested_at_ms', now)
  if status == 'scheduled' then
    redis.call('ZADD', scheduled, 'XX', 'LT', now, id)
    redis.call('ZADD', wake, '0', '1')
  elseif worker and token and token ~= '' then
    redis.call('ZADD', nudge .. worker, 1, 'cancel')
    redis.call('PEXPIRE', nudge .. worker, 10000)
  end
end
