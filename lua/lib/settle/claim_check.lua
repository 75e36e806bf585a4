-- check_claim(key, name, payload, attempts): returns the verdict on a job, and the checkpoint of an earlier attempt. ''
-- for a job that may run. A claimer that calls start for waiting jobs also gets 'isolated', or 'expires' for a job that
-- may expire. Else the reason why a claimed job must not run, see lib/settle/refusal. 'ended' for an ended job whose id
-- a client of the pattern left in pending. A plain job that never ran needs no check. A job is isolated if it has
-- crashed a worker and its next crash would make it a dead letter.
-- ARGV[5]: the limit if there is no other.
-- Needs: first_limit, reports_starts, lib/core/clock, lib/core/read.
local function check_claim(key, name, payload, attempts)
  local max_attempts, expires_at, cancel, status, crashes, next_crash_is_last, unmet, checkpoint = unpack(read(key, 'max_attempts',
    'expires_at_ms', 'cancel_requested_at_ms', 'status', 'crashes', 'next_crash_is_last', 'unmet', 'checkpoint'))
  if status == 'completed' or status == 'failed' or status == 'cancelled' then
    return 'ended'
  end
  max_attempts = tonumber(max_attempts)
  for i = first_limit, #ARGV, 2 do
    max_attempts = max_attempts or ARGV[i] == name and tonumber(ARGV[i + 1])
  end
  max_attempts = max_attempts or tonumber(ARGV[5])
  local refusal = not payload and 'missing' or cancel and 'cancelled' or unmet and 'unmet'
    or expires_at and (tonumber(expires_at) or 0) <= now and 'expired'
    or attempts >= max_attempts and 'exhausted'
  if refusal then
    -- Included here, because most of the checked jobs may run.
--@include lib/settle/refusal
    return refuse(key, refusal, attempts, max_attempts)
  end
  checkpoint = checkpoint or nil
  if not reports_starts then
    return '', checkpoint
  end
  local is_isolated = crashes and (next_crash_is_last or attempts + 1 >= max_attempts)
  return is_isolated and 'isolated' or expires_at and 'expires' or '', checkpoint
end
