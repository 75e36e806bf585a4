-- release(claim): releases a job whose claim is current. Returns released | cancelled | failed. claim: see
--   lua/attempt/release
-- counters: the field that counts the releases of each reason
-- Needs: lib/core/clock, lib/core/emit, lib/core/increment, lib/core/keys, lib/core/read, lib/group/slot,
--   lib/place/requeue, lib/settle/attempt_log, lib/settle/finish.
--@include lib/core/count
--@include lib/place/keep_age
--@include lib/place/wait_apart
--@include lib/foreign/note_name
--@include lib/signal/park
--@include lib/settle/await_permit
local counters = { interruption = 'interruptions', snooze = 'snoozes', rate_limited = 'rate_limited',
  unhandled = 'unhandled', outage = 'interruptions', wait = 'parked' }
gives_back.wait = true -- here alone, because a failure must not pay for it
local goes_first = { rate_limited = true, outage = true }
local first_outcome = { pending = 'released', scheduled = 'released', cancelled = 'cancelled', failed = 'failed' }

local function note_unhandled(key, found_name, ready_at)
  redis.call('HSETNX', key, 'unhandled_at_ms', now_text)
  if found_name ~= '' and redis.call('HEXISTS', key, 'name') == 0 then
    note_name(key, found_name)
  end
  keep_age(key, ready_at)
end

local function release(claim)
  local id, reason, delay = claim.id, claim.reason, claim.delay
  if reason == 'permit' then
    return await_permit(claim)
  end
  local key = job .. id
  local priority, rank, cancel, attempts, ready_at, group, times = unpack(read(key, 'priority', 'rank',
    'cancel_requested_at_ms', 'attempts', 'ready_at_ms', 'group', counters[reason]))
  times = increment(times)
  local is_exhausted = claim.most and tonumber(times) > claim.most
  log_attempt(id, reason, claim.error ~= '' and (is_exhausted or reason == 'outage') and claim.error or nil)
  if group then
    free_slot(group, id)
  end
  if cancel then
    uncount_claim(key, attempts, counters[reason], times)
    end_cancelled(id)
    return 'cancelled'
  end
  if goes_first[reason] then
    if delay > 0 then -- else a limit rests that the queue shares
      rest(delay, group)
    end
    count(reason == 'outage' and 'outages_total' or 'rate_limited_total', 1)
  end
  if is_exhausted then
    uncount_claim(key, attempts, counters[reason], times)
    bury(id, claim.message, '@' .. reason)
    return 'failed'
  elseif goes_first[reason] then
    to_front(id, priority, rank, group)
  elseif reason == 'wait' then
    park(id, key, priority, group)
  elseif delay > 0 then
    wait_apart(id, now + delay, group)
  else
    to_front(id, priority, rank, group)
  end
  uncount_claim(key, attempts, counters[reason], times)
  if reason == 'unhandled' then
    note_unhandled(key, claim.name, ready_at)
  end
  count('released_total', 1)
  emit(id, 'released')
  return 'released'
end
