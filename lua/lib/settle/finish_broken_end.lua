-- finish_broken_end(id, status): finishes the end of a job that broke off at a key of another type. The job has its last
--   status, and still its claim. A job in another state is in its place. A client of the pattern ends a job with its token.
-- Returns false if it breaks off again.
-- close_end(id, status): counts it if it completed and is not in the history. Its caller removes the claim next. Returns false if it
--   breaks off again.
-- Needs: lib/batch/job_ended, lib/core/clock, lib/core/keys, lib/core/read, lib/ids/mark_of, lib/ids/remember,
--   lib/kept/keep_record, lib/retention/announced_queue_limits, lib/retention/cut_history,
--   lib/retention/retention_args, lib/settle/finish, lib/settle/lifetime.
--@include lib/dead_letter/tell_letter
local function count_completed(ids)
  local length
--@include lib/settle/count_completed
  return length
end

local function complete_again(id)
  local key = job .. id
  local unique_key, batch, dependents, result, redriven_from = unpack(read(key, 'unique', 'batch', 'dependents', 'result',
    'redriven_from'))
  free_unique(id, unique_key)
  if redriven_from then
    tell_letter(id, redriven_from)
  end
  job_ended(id, batch, dependents, 'completed', result or '')
  redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
end

local function bury_again(id)
  if not redis.call('LPOS', failed, id) then
    local last_error, kind = unpack(read(job .. id, 'last_error', 'error_kind'))
    bury(id, last_error or '', kind or '@other')
  end
end

local function cancel_again(id)
  if not redis.call('LPOS', cancelled, id) then
    end_cancelled(id)
  end
end

local broken_ends = { completed = complete_again, failed = bury_again, cancelled = cancel_again }

local function finish_broken_end(id, status)
  local finish = read(job .. id, 'claim_token')[1] == '' and broken_ends[status]
  return not finish or (pcall(finish, id))
end

local function close_end(id, status)
  local token, options, request, dependents = unpack(read(job .. id, 'claim_token', 'options', 'request', 'dependents'))
  if status ~= 'completed' or token ~= '' then
    return true
  end
  local counted_at = redis.pcall('LPOS', completed, id, 'MAXLEN', 10000)
  if type(counted_at) == 'number' then
    return true -- only its claim was left: half a script was applied when the server restarted
  end
  local lasts = lifetime_of('completed', options, id)
  if request and not pcall(remember, { score_of(now + lasts, 'completed'), mark_of(id) }, remembered_ids) then
    return false
  end
  local is_counted, length = pcall(count_completed, { id })
  if is_counted then
    redis.call('PEXPIRE', job .. id, lasts)
    if dependents then
      keep_record(id)
    end
    cut_history(completed, length, 1, announced.completed_history or 1000)
  end
  return is_counted
end
