-- leave_places(at, but): removes a job from all its places except `but`.
-- end_for_good(at): finishes the end of a job, and leaves it in no place, with an expiry.
-- finish_end(at): finishes the end of a job that still has its claim. Returns false if that breaks off.
-- lay_ghost(at): ends an id without a hash. at: see lib/doctor/inspect
-- Needs: lib/core/keys, lib/group/slot, lib/kind/change_kind, lib/settle/finish, lib/settle/finish_broken_end,
--   lib/settle/lifetime.
--@include lib/reclaim/is_filler
--@include lib/signal/parked
local function leave_places(at, but)
  local sets = { claims = claims, prioritized = prioritized, scheduled = scheduled, dead = dead }
  if but ~= 'dead' then
    change_kind(at.id)
  end
  for place, set in pairs(sets) do
    if place ~= but then
      redis.call('ZREM', set, at.id)
    end
  end
  if but ~= 'scheduled' then
    redis.call('ZREM', awaiting_signals, at.id)
  end
  if at.group and but ~= 'group' then
    redis.call('ZREM', groups .. 'waiting:' .. at.group, at.id)
  end
  for _, place in ipairs(at.places) do -- asked first, since LREM is O(length of the list)
    if place == 'pending' or place == 'processing' then
      redis.call('LREM', place == 'pending' and pending or processing, 0, at.id)
    end
  end
end

-- Finishes an end that broke off, as the reclaim of its claim does. An end that breaks off again is left to it.
local function finish_end(at)
  return not at.expiry or finish_broken_end(at.id, at.status) and close_end(at.id, at.status)
end

local function end_for_good(at)
  if not finish_end(at) then
    return
  end
  leave_places(at)
  if redis.call('PTTL', at.key) == -1 then
    redis.call('PEXPIRE', at.key, lifetime_of(at.status, nil, at.id))
  end
end

local function lay_ghost(at)
  local only_dead = #at.places == 1 and at.places[1] == 'dead'
  leave_places(at)
  redis.call('UNLINK', at.key)
  end_hold_of(at.id)
  if #at.places > 0 and not only_dead and not is_filler(at.id) then
    bury(at.id, 'The job hash is missing: it was deleted or has expired.', '@gone')
  end
end
