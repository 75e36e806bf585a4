-- refusal_of(key, name, payload, attempts): why a claimed job must not run, or ''; 'ended' for an id that a client of the
-- pattern left in pending although its job has ended. Only asked where it may be: a plain job that never ran is as it
-- was made. ARGV[5]: the limit where there is no other. Needs: now, read, first_limit, last_limit.
local function refusal_of(key, name, payload, attempts)
  local max_attempts, expires_at, cancel, status = unpack(read(key, 'max_attempts', 'expires_at_ms',
    'cancel_requested_at_ms', 'status'))
  if status == 'completed' or status == 'failed' or status == 'cancelled' then
    return 'ended'
  end
  max_attempts = tonumber(max_attempts)
  for i = first_limit, last_limit, 2 do
    max_attempts = max_attempts or ARGV[i] == name and tonumber(ARGV[i + 1])
  end
  return not payload and 'missing' or cancel and 'cancelled'
    or expires_at and (tonumber(expires_at) or 0) <= now and 'expired'
    or attempts >= (max_attempts or tonumber(ARGV[5])) and 'exhausted' or ''
end
