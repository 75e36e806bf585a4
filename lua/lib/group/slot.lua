-- What a job that leaves, or waits apart, does to its group.
-- free_slot(name, id): the job runs no more. hold_group(name, id, is_dead), end_hold(name, id): it holds the others back.
-- Needs: groups, read_group, touch, touched_groups.
local function free_slot(name, id)
  redis.call('ZREM', groups .. 'running:' .. name, id)
  touched_groups[name] = touched_groups[name] or { only_slot = true }
end

-- Where a group runs one job at a time, its head that waits for a retry, or is dead, holds the others back.
local function hold_group(name, id, is_dead)
  local group = read_group(name)
  if group.max_running == 1 and (not is_dead or group.holds_dead) then
    redis.call('HSETNX', groups .. 'state:' .. name, 'hold', id)
    touch(name)
  end
end

local function end_hold(name, id)
  if redis.call('HGET', groups .. 'state:' .. name, 'hold') == id then
    redis.call('HDEL', groups .. 'state:' .. name, 'hold')
    touch(name)
  end
end
