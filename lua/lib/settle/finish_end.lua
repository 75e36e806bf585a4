-- finish_end(id, status): finishes the end of a job that broke off, at a key of another type: the job has its last status,
--   and is in no history. A job in another state is in its place.
-- Returns false if it breaks off again. Needs: lib/settle/finish, completed, stats, announced, read, add_to_history.
local function complete_again(id)
  local key = job .. id
  local unique_key, batch, dependents, result, options = unpack(read(key, 'unique', 'batch', 'dependents', 'result', 'options'))
  free_unique(id, unique_key)
  job_ended(id, batch, dependents, 'completed', result or '')
  redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
  redis.call('HINCRBY', stats, 'completed_total', 1)
  add_to_history(completed, { id }, announced.completed_history or 1000)
  redis.call('PEXPIRE', key, lifetime_of('completed', options))
end

local function bury_again(id)
  bury(id, read(job .. id, 'last_error')[1] or '')
end

local function end_again(id, history, finish)
  if not redis.call('LPOS', history, id) then
    finish(id)
  end
end

local broken_ends = { completed = { completed, complete_again }, failed = { failed, bury_again },
  cancelled = { cancelled, end_cancelled } }

local function finish_end(id, status)
  local history, finish = unpack(broken_ends[status] or {})
  return not history or (pcall(end_again, id, history, finish))
end
