-- crash(id, what): ends a claim whose worker is gone. It counts the crash, clears the token and raises the fence, so that
-- a stale settle is refused. The job goes to the front, to the dead letters, or is cancelled if that was requested.
-- An unstarted job (prefetched, isolated or expired) gets no crash, because it had not started. Its attempt is given
-- back, and its cost refunded. A job that its claim refused gets none either, and it has no attempt to give back.
-- Returns the new status, the worker ('' if it is unknown), and how that died; nil if the job had not started.
-- Needs: lib/core/clock, lib/core/emit, lib/core/increment, lib/core/keys, lib/core/read, lib/foreign/name_in_payload,
--   lib/group/slot, lib/limits/refund, lib/place/requeue, lib/settle/attempt_limits, lib/settle/attempt_log,
--   lib/settle/finish.
--@include lib/core/count

-- Writes the end of the claim into the hash.
local function end_crashed_claim(key, id, fields, reason)
  log_attempt(id, fields.crashes and 'crash' or 'interruption',
    cjson.encode({ name = 'WorkerCrash', message = reason, diedAt = fields.died_at }))
  redis.call('HSET', key, 'claim_token', '', 'claimed_at_ms', 0, 'reclaimed_at_ms', now_text, 'fence', string.format('%d', redis.call('INCR', sequence)))
  redis.call('HDEL', key, 'death', 'died_at_ms')
  if fields.crashes then
    count('crashed_total', 1)
    redis.call('HSET', key, 'crashes', fields.crashes)
  else
    redis.call('HSET', key, 'attempts', fields.attempts, 'interruptions', fields.interruptions)
  end
end

-- Returns what the claim's worker last reported of its process, as a part of a sentence.
local function report_of(death, fence)
  local of, text = string.match(death or '', '^(%d+) (.*)$')
  return of == fence and '; uncaught error in its process: ' .. text or ''
end

-- Returns why a job must not run again after a crash, else nil and whether the next crash is its last.
local function end_of_attempts(id, attempts, crashes)
  local max_attempts, max_crashes = attempt_limits(id)
  if tonumber(crashes) >= max_crashes then
    return ': its worker died ' .. crashes .. ' times while it ran (maxCrashes ' .. max_crashes .. ')'
  elseif attempts >= max_attempts then
    return ' on attempt ' .. attempts .. ' (maxAttempts ' .. max_attempts .. ')'
  end
  return nil, crashes + 1 >= max_crashes
end

local function crash(id, what)
  local key = job .. id
  local status, attempts, priority, rank, cancel, worker, crashes, interruptions, fence, group, death, died_at =
    unpack(read(key, 'status', 'attempts', 'priority', 'rank', 'cancel_requested_at_ms', 'worker', 'crashes',
      'interruptions', 'fence', 'group', 'death', 'died_at_ms'))
  if group then
    free_slot(group, id)
  end
  count('reclaimed_total', 1)
  if not status then
    bury(id, 'The job hash is missing: it was deleted or has expired.', '@gone')
    return 'failed', ''
  end
  attempts = tonumber(attempts) or 0
  local mark = redis.call('HGET', key, 'unstarted:' .. (fence or ''))
  local charged = not mark
  if not charged then
    redis.call('HDEL', key, 'unstarted:' .. (fence or ''))
    refund_all(id)
  end
  local counted = (charged or mark == 'refused') and attempts or math.max(0, attempts - 1)
  local fields = charged and { crashes = increment(crashes) }
    or { attempts = counted, interruptions = increment(interruptions) }
  local report = report_of(death, fence)
  fields.died_at = report ~= '' and tonumber(died_at) or nil
  local reason = what .. (worker and ' (worker ' .. worker .. report .. ')' or '')
  local how = charged and what .. report or nil
  if cancel then
    end_crashed_claim(key, id, fields, reason)
    end_cancelled(id)
    return 'cancelled', worker or '', how
  end
  local bad_end, next_crash_is_last
  if charged then
    bad_end, next_crash_is_last = end_of_attempts(id, attempts, fields.crashes)
  end
  if bad_end then
    end_crashed_claim(key, id, fields, reason)
    local name = read(key, 'name')[1] or name_in_payload(key)
    bury(id, reason .. bad_end .. (name and '; its name is ' .. cjson.encode(name) or ''), '@crash')
    return 'failed', worker or '', how
  end
  to_front(id, priority, rank, group) -- first: if it breaks off, the crash is not counted
  end_crashed_claim(key, id, fields, reason)
  if next_crash_is_last then
    redis.call('HSET', key, 'next_crash_is_last', '1')
  end
  emit(id, 'reclaimed')
  return 'pending', worker or '', how
end
