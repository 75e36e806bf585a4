-- The effect on its group of a job that leaves or waits apart.
-- free_slot(name, id): the job no longer runs.
-- hold_group(name, id, is_dead), end_hold(name, id): it holds the others back, or no longer.
-- end_hold_of(id): does the same for an unknown group, such as that of a job without a hash.
-- Needs: groups, lib/group/line_and_slots, lib/group/place, lib/group/state.
local only_slot = { only_slot = true }

local function free_slot(name, id)
  redis.call('ZREM', slots_of(name), id)
  touched_groups[name] = touched_groups[name] or only_slot
end

local function end_hold(name, id)
  if redis.call('HGET', groups .. 'state:' .. name, 'hold') == id then
    redis.call('HDEL', groups .. 'state:' .. name, 'hold', 'hold_is_dead')
    redis.call('HDEL', groups .. 'holds', id)
    touch(name)
  end
end

local function end_hold_of(id)
  local name = redis.call('HGET', groups .. 'holds', id)
  if name then
    end_hold(name, id)
    redis.call('HDEL', groups .. 'holds', id)
  end
end

-- Holds a group that runs one job at a time. A head that is dead or retried later blocks the others.
local function hold_group(name, id, is_dead)
  local group = read_group(name)
  if group.max_running ~= 1 or is_dead and not group.holds_dead or group.hold then
    return
  end
  local state = groups .. 'state:' .. name
  local former = redis.call('HGET', state, 'hold') -- its reason is over
  if former then
    end_hold(name, former)
  end
  mark_state(name)
  redis.call('HSET', state, 'hold', id)
  if is_dead then
    redis.call('HSET', state, 'hold_is_dead', '1')
  end
  redis.call('HSET', groups .. 'holds', id, name)
  touch(name)
end
