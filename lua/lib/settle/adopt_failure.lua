-- adopt_failure(id): moves a job that a client of the Redis pattern failed into the dead letters. It keeps the hash,
--   which that client lets expire. Returns 1, or 0 if the job did not fail or is already there.
-- note_foreign_client(): records that such a client works here.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read, lib/foreign/name_in_payload, lib/kind/change_kind,
--   lib/settle/report_failure.
local function note_foreign_client()
  redis.call('HSET', sweep, 'foreign_seen_at_ms', now_text)
end

local function adopt_failure(id)
  if read(job .. id, 'status')[1] ~= 'failed' or redis.call('ZADD', dead, 'NX', now, id) == 0 then
    return 0
  end
  redis.call('PERSIST', job .. id)
  redis.call('HSET', job .. id, 'failed_at_ms', now_text, 'claim_token', '')
  change_kind(id, '@foreign')
  note_foreign_client()
  local last_error = read(job .. id, 'last_error')[1]
  report_failure(id, last_error or 'A client of the Redis pattern failed it.', name_in_payload(job .. id))
  return 1
end
