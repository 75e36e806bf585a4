-- crash(id, what): ends a claim whose worker is gone. It counts the crash, clears the token and raises the fence, so that
-- a stale settle is refused. The job goes to the front, to the dead letters, or is cancelled if that was requested.
-- A held job (prefetched, on its last chance or expired) gets no crash, because it had not started. Its attempt is given
-- back, and its cost refunded.
-- Needs: keys, now, lib/limits/refund, places, attempts, limits, ends, read, name_in_payload.
local function bury_named(id, reason)
  local name = read(job .. id, 'name')[1] or name_in_payload(job .. id)
  bury(id, reason .. (name and '; its name is ' .. cjson.encode(name) or ''))
end

local function crash(id, what)
  local key = job .. id
  local status, attempts, priority, rank, cancel, worker, crashes, interruptions, fence, held, group = unpack(read(key, 'status',
    'attempts', 'priority', 'rank', 'cancel_requested_at_ms', 'worker', 'crashes', 'interruptions', 'fence', 'unstarted_fence', 'group'))
  if group then
    free_slot(group, id)
  end
  redis.call('HINCRBY', stats, 'reclaimed_total', 1)
  if not status then
    bury(id, 'The job hash is missing: it was deleted or has expired.')
    return 'failed'
  end
  attempts = tonumber(attempts) or 0
  local charged = not held or held ~= fence
  if not charged then
    refund_all(id)
  end
  local reason = what .. (worker and ' (worker ' .. worker .. ')' or '')
  log_attempt(id, charged and 'crash' or 'interruption', cjson.encode({ name = 'WorkerCrash', message = reason }))
  redis.call('HSET', key, 'claim_token', '', 'claimed_at_ms', 0, 'reclaimed_at_ms', now, 'fence',
    redis.call('INCR', sequence))
  if charged then
    redis.call('HINCRBY', stats, 'crashed_total', 1)
    crashes = increment(crashes)
    redis.call('HSET', key, 'crashes', crashes)
  else
    redis.call('HSET', key, 'attempts', math.max(0, attempts - 1), 'interruptions', increment(interruptions))
  end
  if cancel then
    end_cancelled(id)
    return 'cancelled'
  end
  if charged then
    local max_attempts, max_crashes = attempt_limits(id)
    if tonumber(crashes) >= max_crashes then
      bury_named(id, reason .. ': it crashed its worker ' .. crashes .. ' times (maxCrashes ' .. max_crashes .. ')')
      return 'failed'
    end
    if attempts >= max_attempts then
      bury_named(id, reason .. ' on attempt ' .. attempts .. ' (maxAttempts ' .. max_attempts .. ')')
      return 'failed'
    end
    if crashes + 1 >= max_crashes then
      redis.call('HSET', key, 'crashes_left', '1')
    end
  end
  to_front(id, priority, rank, group)
  emit(id, 'reclaimed')
  return 'pending'
end
