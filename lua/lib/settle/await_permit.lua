-- await_permit(claim): puts a job back whose key has no free permit, as if it had not been claimed. Its group rests, see
--   docs/internals/limits.md, "Keys". Returns released | cancelled. claim: see lua/attempt/release
-- rest(ms, group): lets the group, or without one the queue, start nothing for a time. A rest that ends later stays, but not one
--   for a permit.
-- uncount_claim(key, attempts, ...): ends the claim of a job without counting its attempt, and writes these fields too.
-- Needs: lib/core/clock, lib/core/keys, lib/core/read, lib/group/slot, lib/group/state, lib/place/keep_age,
--   lib/place/requeue, lib/settle/finish.
--@include lib/group/keyed
local function rest(ms, group)
  local key = group and groups .. 'state:' .. group or settings
  local rests_until, rest_ms = unpack(redis.call('HMGET', key, 'rests_until_ms', 'rest_ms'))
  rests_until, rest_ms = tonumber(rests_until or nil) or 0, tonumber(rest_ms or nil) or math.huge
  if group then
    mark_state(group)
    if ends_with_permit(group, rests_until) then
      rests_until = 0
    end
  end
  if now + ms > rests_until or rests_until > now + rest_ms then
    redis.call('HSET', key, 'rests_until_ms', string.format('%.0f', now + ms), 'rest_ms', string.format('%.0f', ms))
    return true
  end
end

local function uncount_claim(key, attempts, ...)
  redis.call('HSET', key, 'claim_token', '', 'claimed_at_ms', 0, 'attempts', math.max(0, (tonumber(attempts) or 1) - 1), ...)
end

local function await_permit(claim)
  local id, key = claim.id, job .. claim.id
  local priority, rank, cancel, attempts, group, claimed_at, ready_at = unpack(read(key, 'priority', 'rank', 'cancel_requested_at_ms',
    'attempts', 'group', 'claimed_at_ms', 'ready_at_ms'))
  if group then
    free_slot(group, id)
  end
  if cancel then
    uncount_claim(key, attempts)
    end_cancelled(id)
    return 'cancelled'
  end
  if group and not has_permit_come(group, tonumber(claimed_at) or 0) and rest(claim.delay, group) then
    note_keyed(group, now + claim.delay)
  end
  to_front(id, priority, rank, group)
  uncount_claim(key, attempts)
  keep_age(key, ready_at)
  return 'released'
end
