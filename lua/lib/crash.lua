-- crash(id, what): ends a claim whose worker is gone: counts the crash, clears the token, raises the fence (so that a
-- stale settle is refused), and sends the job back to the front, or to the dead letters, or to its asked-for cancel.
-- Needs: keys, now, places, attempts, limits, ends, read.
local function crash(id, what)
  local key = job .. id
  local status, attempts, priority, rank, cancel, worker, crashes = unpack(read(key, 'status', 'attempts', 'priority',
    'rank', 'cancel_requested_at_ms', 'worker', 'crashes'))
  redis.call('HINCRBY', stats, 'reclaimed_total', 1)
  if not status then
    bury(id, 'The job hash is missing: it was deleted or has expired.')
    return 'failed'
  end
  local reason = what .. (worker and ' (worker ' .. worker .. ')' or '')
  log_attempt(id, 'crash', cjson.encode({ name = 'WorkerCrash', message = reason }))
  crashes = counted(crashes)
  redis.call('HSET', key, 'crashes', crashes, 'claim_token', '', 'claimed_at_ms', 0, 'reclaimed_at_ms', now, 'fence', redis.call('INCR', sequence))
  if cancel then
    end_cancelled(id)
    return 'cancelled'
  end
  local max_attempts, max_crashes = limits(id)
  if tonumber(crashes) >= max_crashes then
    bury(id, reason .. ': it crashed its worker ' .. crashes .. ' times (maxCrashes ' .. max_crashes .. ')')
    return 'failed'
  end
  if (tonumber(attempts) or 0) >= max_attempts then
    bury(id, reason .. ' on attempt ' .. attempts .. ' (maxAttempts ' .. max_attempts .. ')')
    return 'failed'
  end
  to_front(id, priority, rank)
  emit(id, 'reclaimed')
  return 'pending'
end
