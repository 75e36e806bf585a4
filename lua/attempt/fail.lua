#!lua flags=allow-oom
-- Fails claims: processing -> pending or scheduled (a retry), failed (a dead letter) or cancelled (after a cancel
-- request). The job's max_attempts decide. An unstarted job gets its attempt back.
-- Transition: fail
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11..] for each job: id, token, fence, message, error (JSON), final ('1': no retry), backoff in ms, begun,
--   kind (the fingerprint of the error)
--   begun: '1' if its handler was called, so its attempt counts, even if its start was lost; else its cost is refunded
--     to the rates
-- Returns, for each job: retry | failed | cancelled | lost.
-- Repeated: the token is empty and the fence equal, and the status shows the first reply. If the retry was claimed
--   again, the attempt_log has the fence. Nothing changes.
--@include lib/core/keys
--@include lib/core/count
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/place/wait_apart
--@include lib/limits/freed_slot
--@include lib/limits/refund
--@include lib/settle/attempt_log
--@include lib/settle/attempt_limits
--@include lib/settle/finish
local first_outcome = { pending = 'retry', scheduled = 'retry', failed = 'failed', cancelled = 'cancelled' }

-- Gives a job its attempt back if it had not started. Returns its attempts.
local function uncount_unstarted(key, fence, attempts)
  local field = 'unstarted:' .. (fence or '')
  local mark = redis.call('HGET', key, field)
  if mark then
    redis.call('HDEL', key, field)
  end
  if mark and mark ~= 'refused' then
    attempts = math.max(0, attempts - 1)
    redis.call('HSET', key, 'attempts', string.format('%d', attempts))
    leave_plain(key) -- its completion removes the error of an attempt that did not count
  end
  return attempts
end

local function retry(id, backoff, priority, group, message)
  if backoff > 0 then
    wait_apart(id, now + backoff, group)
  else
    to_back(id, priority, group)
  end
  redis.call('HSET', job .. id, 'claim_token', '', 'claimed_at_ms', 0)
  count('retried_total', 1)
  emit(id, 'retry', message)
end

local function fail(id, message, error, final, backoff, begun, kind)
  local key = job .. id
  local attempts, priority, cancel, errors, fence, group = unpack(read(key, 'attempts', 'priority',
    'cancel_requested_at_ms', 'errors', 'fence', 'group'))
  attempts = tonumber(attempts) or 0
  if not begun then
    refund_all(id)
  end
  if group then
    free_slot(group, id)
  end
  attempts = begun and attempts or uncount_unstarted(key, fence, attempts)
  log_attempt(id, 'error', error)
  redis.call('HSET', key, 'errors', increment(errors), 'last_error', message, 'last_error_at_ms', now_text)
  if cancel then
    end_cancelled(id)
    return 'cancelled'
  elseif final or attempts >= attempt_limits(id) then
    bury(id, message, kind)
    return 'failed'
  end
  retry(id, backoff, priority, group, message)
  return 'retry'
end

-- Returns the outcome of a claim that is not current: the first reply if it was failed before, also if it was claimed
-- again since.
local function repeated(id, fence, current, last_fence, status)
  if current == '' and last_fence == fence then
    return first_outcome[status] or 'lost'
  end
  return logged_outcome(id, fence) == 'error' and 'retry' or 'lost'
end

local outcomes, failures = {}, {}
for i = first, #ARGV, 9 do
  local id, token, fence = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local current, last_fence, status = unpack(read(job .. id, 'claim_token', 'fence', 'status'))
  if current == token and status == 'processing' then
    outcomes[#outcomes + 1] = fail(id, ARGV[i + 3], ARGV[i + 4], ARGV[i + 5] == '1', tonumber(ARGV[i + 6]),
      ARGV[i + 7] == '1', ARGV[i + 8])
    failures[#failures + 1] = id
  else
    outcomes[#outcomes + 1] = repeated(id, fence, current, last_fence, status)
  end
end
place_groups()
-- The claims go last: if a step breaks off, the next reclaim finds the jobs.
for _, id in ipairs(failures) do
  redis.call('ZREM', claims, id)
end
wake_for_slot()
return outcomes
