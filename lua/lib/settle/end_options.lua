-- end_options(id, key, result, found): ends the effects of a completed job's options and earlier attempts. These are
--   its unique key, its last error, its batch, and the jobs that wait for it. Returns its group, and whether the outbox
--   got something for another queue. found: claim_token, dependents, unique, last_error_at_ms, batch, group and
--   redriven_from of its hash.
-- Needs: unique.
--@include lib/batch/job_ended
--@include lib/dead_letter/tell_letter
local function end_options(id, key, result, found)
  local _, dependents, unique_key, last_error_at, batch, group, redriven_from = unpack(found)
  if last_error_at then
    redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
  end
  if unique_key and redis.call('HGET', unique, unique_key) == id then
    redis.call('HDEL', unique, unique_key)
  end
  if redriven_from then
    tell_letter(id, redriven_from)
  end
  return group, job_ended(id, batch, dependents, 'completed', result)
end
