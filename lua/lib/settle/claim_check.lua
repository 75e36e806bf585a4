-- check_claim(id, name, payload, attempts, giant, part): returns the verdict on a job, and the checkpoint of an earlier attempt. ''
-- for a job that may run. A claimer that calls start for waiting jobs also gets 'isolated', or 'expires' for a job that
-- may expire. Else the reason why a claimed job must not run, see lib/settle/refusal. 'elsewhere' for an id that was left
-- in its place: see is_elsewhere. A plain job that never ran needs no check. A job is isolated if it has crashed a worker
-- and its next crash would make it a dead letter.
-- giant: the bytes of a payload that is too large to be loaded, or false; of another part see lib/settle/oversized_part
-- ARGV[5]: the limit if there is no other.
-- Needs: claims, first_limit, groups, job, prioritized, scheduled, slots, token, lib/core/clock, lib/core/read.
local ended = { completed = true, failed = true, cancelled = true }

-- Returns whether the id that was just taken has another place. A job whose hash was deleted, and that was then enqueued
-- again, has two. So has one whose script broke off, or an ended one that a client of the pattern left in pending.
local function is_elsewhere(id, status, claim_token, priority, group)
  return ended[status] or claim_token == token or status == 'processing' and redis.call('ZSCORE', claims, id)
    or status == 'scheduled' and redis.call('ZSCORE', scheduled, id)
    or group and redis.call('ZSCORE', groups .. 'waiting:' .. group, id)
    or not group and priority and redis.call('ZSCORE', prioritized, id)
end

local function check_claim(id, name, payload, attempts, giant, part)
  local key = job .. id
  local max_attempts, expires_at, cancel, status, crashes, next_crash_is_last, unmet, checkpoint, claim_token, priority, group =
    unpack(read(key, 'max_attempts', 'expires_at_ms', 'cancel_requested_at_ms', 'status', 'crashes', 'next_crash_is_last',
      'unmet', 'checkpoint', 'claim_token', 'priority', 'group'))
  if group and #group > 1024 then
    part, giant, group = 'group', string.format('%d ', #group) .. string.sub(group, 1, 60), nil
    redis.call('HDEL', key, 'group')
  end
  if is_elsewhere(id, status, claim_token, priority, group) then
    return 'elsewhere'
  end
  max_attempts = tonumber(max_attempts)
  for i = first_limit, #ARGV, 2 do
    max_attempts = max_attempts or ARGV[i] == name and tonumber(ARGV[i + 1])
  end
  max_attempts = max_attempts or tonumber(ARGV[5])
  local refusal = giant and 'oversized' or not payload and 'missing' or cancel and 'cancelled' or unmet and 'unmet'
    or expires_at and (tonumber(expires_at) or 0) <= now and 'expired'
    or attempts >= max_attempts and 'exhausted'
  if refusal then
    -- Included here, because most of the checked jobs may run.
--@include lib/settle/refusal
    return refuse(key, refusal, attempts, max_attempts, giant, part)
  end
  checkpoint = checkpoint or nil
  if not slots then
    return '', checkpoint
  end
  local is_isolated = crashes and (next_crash_is_last or attempts + 1 >= max_attempts)
  return is_isolated and 'isolated' or expires_at and 'expires' or '', checkpoint
end
