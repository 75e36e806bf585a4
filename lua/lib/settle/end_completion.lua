-- end_completion(id): ends a completion that broke off, at a key of another type: its job is completed, and in no history.
-- Returns false if it breaks off again. Needs: lib/settle/finish, completed, stats, announced, read, add_to_history.
local function end_broken(id)
  local key = job .. id
  local unique_key, batch, dependents, result, options = unpack(read(key, 'unique', 'batch', 'dependents', 'result', 'options'))
  if redis.call('LPOS', completed, id) then
    return
  end
  free_unique(id, unique_key)
  job_ended(id, batch, dependents, 'completed', result or '')
  redis.call('HDEL', key, 'last_error', 'last_error_at_ms')
  redis.call('HINCRBY', stats, 'completed_total', 1)
  add_to_history(completed, { id }, announced.completed_history or 1000)
  redis.call('PEXPIRE', key, lifetime_of('completed', options))
end

local function end_completion(id)
  return (pcall(end_broken, id))
end
