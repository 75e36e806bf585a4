-- replace(owner, id, name, payload, options): gives the waiting owner of a unique key the options of a newer job.
--   Returns replace, or kept if the owner no longer waits.
-- replaced_before(id, options): returns the owner that this same enqueue has replaced before, which may run or have
--   ended by now.
-- Needs: job, memory_ms, plain, replaced, lib/core/clock, lib/enqueue/leave_plain, lib/enqueue/options,
--   lib/place/place_new, lib/place/remove_waiting, lib/unique/owner.
local function leave_place(id)
  if remove_waiting(id) then
    return true
  end
  for i = #plain, 1, -1 do -- a job of this very batch
    if plain[i] == id then
      table.remove(plain, i)
      return true
    end
  end
end

-- Replaces the owner's options, including how it holds the key. It keeps its id, its fence and its attempt log for
-- repeats of its claims. So it is not a plain job.
local function replace(owner, id, name, payload, options)
  local key = job .. owner
  if not leave_place(owner) then
    return 'kept' -- taken by a client of the pattern that has not written its claim yet
  end
  redis.call('HDEL', key, 'options', 'priority', 'rank', 'cost', 'group', 'max_attempts', 'max_crashes', 'expires_at_ms', 'due_at_ms',
    'crashes', 'errors', 'unhandled', 'unhandled_at_ms', 'cancel_requested_at_ms', 'unique', 'unique_for', 'window',
    'window_ms', 'progress', 'log', 'snoozes', 'rate_limited', 'interruptions', 'next_crash_is_last',
    'last_error', 'last_error_at_ms', 'checkpoint', 'steps',
    'lifo')
  redis.call('HSET', key, 'name', name, 'payload', payload, 'status', 'pending', 'attempts', '0', 'claimed_at_ms', 0,
    'ready_at_ms', now_text)
  redis.call('SET', replaced .. (options.request or id), owner, 'PX', memory_ms)
  options.request = nil -- the owner's own stays, for a repeat of its enqueue
  write_options(key, options)
  leave_plain(key)
  own_unique(owner, options)
  place_new(owner, options)
  return 'replace'
end

local function replaced_before(id, options)
  return redis.call('GET', replaced .. id) or options.request and redis.call('GET', replaced .. options.request)
end
