-- The ends of a job other than completed: as a dead letter, or cancelled. Each clears the claim token, frees the unique
--   key if the job still owns it, counts and publishes. The history is last: a job in it has ended completely, see
--   lib/settle/finish_broken_end.
-- Needs: lib/core/clock, lib/core/emit, lib/core/keys, lib/core/read, lib/group/slot, lib/retention/add_to_history,
--   lib/retention/retention_args.
--@include lib/core/count
--@include lib/ids/remember
--@include lib/kept/keep_record
--@include lib/settle/lifetime
--@include lib/retention/trim_dead_letters
--@include lib/batch/job_ended
--@include lib/settle/report_failure
local function free_unique(id, key)
  if key and redis.call('HGET', unique, key) == id then
    redis.call('HDEL', unique, key)
  end
end

-- Makes a job a dead letter. kind: the fingerprint of its error, or @ and a word for an end that no handler caused
local function bury(id, reason, kind)
  local key = job .. id
  local unique_key, payload, batch, dependents, group = unpack(read(key, 'unique', 'payload', 'batch', 'dependents', 'group'))
  if not payload then
    count('broken_total', 1)
  end
  redis.call('ZADD', dead, now, id)
  redis.call('HSET', key, 'status', 'failed', 'claim_token', '', 'failed_at_ms', now_text,
    'last_error', reason, 'last_error_at_ms', now_text)
  redis.call('PERSIST', key)
  change_kind(id, kind)
  if group then
    end_hold(group, id)
    hold_group(group, id, true)
  end
  free_unique(id, unique_key)
  job_ended(id, batch, dependents, 'failed', reason)
  report_failure(id, reason)
  count('failed_total', 1)
  add_to_history(failed, { id }, failed_history)
  emit(id, 'failed', reason)
  trim_dead_letters(100)
end

-- Returns true if the outbox got something for another queue.
local function end_cancelled(id)
  local key = job .. id
  local unique_key, options, batch, dependents, request = unpack(read(key, 'unique', 'options', 'batch', 'dependents',
    'request'))
  local lasts = lifetime_of('cancelled', options, id)
  redis.call('HSET', key, 'status', 'cancelled', 'claim_token', '', 'cancelled_at_ms', now_text)
  redis.call('PEXPIRE', key, lasts)
  if request then
    remember({ score_of(now + lasts, 'cancelled'), mark_of(id) }, remembered_ids)
  end
  if is_awaited(dependents) then
    keep_record(id)
  end
  free_unique(id, unique_key)
  local is_posted = job_ended(id, batch, dependents, 'cancelled', '')
  count('cancelled_total', 1)
  add_to_history(cancelled, { id }, cancelled_history)
  emit(id, 'cancelled')
  return is_posted
end
