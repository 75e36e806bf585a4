-- verdict_of(key, name, payload, attempts): '' for a job that may run; 'alone' for one on its last chance, where the
-- claimer runs such a job alone; else why a claimed job must not run, a space, and what tells it truly (JSON: attempts,
-- max_attempts, started, last_error); 'ended' for an id that a client of the pattern left in pending although its job has
-- ended. Only asked where it may be: a plain job that never ran is as it was made.
-- A job is on its last chance when it has crashed a worker and another crash would bury it.
-- ARGV[5]: the limit where there is no other. Needs: now, read, isolates, first_limit, last_limit.
local function verdict_of(key, name, payload, attempts)
  local max_attempts, expires_at, cancel, status, crashes, last_chance = unpack(read(key, 'max_attempts', 'expires_at_ms',
    'cancel_requested_at_ms', 'status', 'crashes', 'last_chance'))
  if status == 'completed' or status == 'failed' or status == 'cancelled' then
    return 'ended'
  end
  max_attempts = tonumber(max_attempts)
  for i = first_limit, last_limit, 2 do
    max_attempts = max_attempts or ARGV[i] == name and tonumber(ARGV[i + 1])
  end
  max_attempts = max_attempts or tonumber(ARGV[5])
  local refusal = not payload and 'missing' or cancel and 'cancelled'
    or expires_at and (tonumber(expires_at) or 0) <= now and 'expired'
    or attempts >= max_attempts and 'exhausted'
  if refusal then
    local last_error, interruptions, snoozes = unpack(read(key, 'last_error', 'interruptions', 'snoozes'))
    -- As text, since a number that JSON does not have would end the script halfway.
    return refusal .. ' ' .. cjson.encode({ attempts = tostring(attempts), max_attempts = tostring(max_attempts),
      started = attempts > 0 or interruptions ~= false or snoozes ~= false, last_error = last_error or nil })
  end
  return isolates and crashes and (last_chance or attempts + 1 >= max_attempts) and 'alone' or ''
end
