-- repair(at, found, visibility): puts one job where it belongs, from any state. at: see lib/doctor/inspect. found: the
--   fault.
-- Needs: lib/core/clock, lib/core/keys, lib/doctor/inspect, lib/group/place, lib/kind/change_kind, lib/place/requeue,
--   lib/retention/trim_dead_letters, lib/settle/finish.
--@include lib/core/never
--@include lib/doctor/correct_place
--@include lib/doctor/leave_places

-- Starts the claim's time again: a live worker extends it, and a dead one loses it to the sweep.
local function place_claimed(at, visibility)
  redis.call('HSET', at.key, 'status', 'processing')
  redis.call('ZADD', claims, now + visibility, at.id)
  if at.group then
    redis.call('ZADD', groups .. 'running:' .. at.group, now_text, at.id)
  end
end

local function place_dead(at, found)
  if at.status == 'failed' or redis.call('ZSCORE', dead, at.id) then
    redis.call('HSET', at.key, 'status', 'failed', 'failed_at_ms', at.failed_at or now_text)
    redis.call('ZADD', dead, 'NX', tonumber(at.failed_at) or now, at.id)
    if redis.call('HEXISTS', at.key, 'error_kind') == 0 then
      change_kind(at.id, '@doctor')
    end
    trim_dead_letters(100)
  else
    bury(at.id, 'The doctor could not find where this job belongs: ' .. found .. '.', '@doctor')
  end
end

-- Gives the job a start that never comes. The sweep checks when the jobs that it waits for have ended.
local function place_awaiting(at)
  leave_places(at, 'scheduled')
  redis.call('ZADD', scheduled, string.format('%d', never_ms), at.id)
  redis.call('ZADD', awaiting, 0, at.id)
end

local function repair(at, found, visibility)
  if at.group then
    touch(at.group) -- its slots are for lua/doctor/groups.lua to recount
  end
  if not at.hash then
    return lay_ghost(at)
  elseif at.status == 'completed' or at.status == 'cancelled' then
    return end_for_good(at)
  end
  if at.status == 'failed' and not finish_end(at) then
    return
  end
  local place = correct_place(at)
  redis.call('PERSIST', at.key)
  if place == 'claims' then
    leave_places(at, place)
    return place_claimed(at, visibility)
  end
  -- As at the end of a claim: a settle by the claim that was current must be refused.
  redis.call('HSET', at.key, 'claim_token', '', 'claimed_at_ms', 0, 'fence', string.format('%d', redis.call('INCR', sequence)))
  if place == 'scheduled' and at.after then
    return place_awaiting(at)
  end
  if #at.places == 1 and place == at.places[1] and place ~= 'dead' then
    redis.call('HSET', at.key, 'status', status_in[place])
    return
  end
  leave_places(at, place)
  if place == 'dead' then
    place_dead(at, found)
  elseif place == 'scheduled' then
    to_later(at.id, tonumber(at.due) or now)
  elseif at.group and (place == 'front' or place == 'group' or place == 'pending' or place == 'prioritized') then
    leave_places(at)
    to_front(at.id, at.priority, at.rank, at.group)
  elseif place == 'prioritized' or place == 'front' and at.priority then
    to_front(at.id, at.priority or 0, at.rank)
  else
    to_front(at.id)
  end
end
