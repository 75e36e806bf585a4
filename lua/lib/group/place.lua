-- Where groups stand. A group whose head may run now stands in turns, by its virtual start time. One that a rate or a rest holds
-- back stands in gated, by the time at which that ends. A group that is paused, held or at its max_running stands in neither.
-- A blocked group costs a claim nothing.
-- place_group(name, known): puts a group where it belongs, whatever changed. A second call changes nothing. known is what the caller
-- knows: { group, head, running, finish } of one that has just had a turn, or { only_slot = true } where only a slot was freed.
-- touch(name): has place_groups() place it at the end of the script; that wakes a worker where a group may run now.
-- After the last place_group() comes count_waiting(), see lib/group/depth; place_groups() calls it.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): what a job that leaves, or waits apart, does to its group.
-- Needs: job, groups, wake, now, time.
--@include lib/group/state
--@include lib/group/turns
--@include lib/group/depth
--@include lib/group/gate

-- Answers whether it has come into turns.
local function place_group(name, known)
  known = known or {}
  local waiting, group = groups .. 'waiting:' .. name, known.group or read_group(name)
  local head = known.head or redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  local running = known.running or redis.call('ZCARD', groups .. 'running:' .. name)
  if not (known.only_slot and head[1]) then
    note_depth(name, head[1] and redis.call('ZCARD', waiting) or 0, running, head[2])
  end
  if not head[1] then
    leave_turns(name, known.finish)
    rest_idle(name, group)
    return false
  end
  local blocked = group.paused or group.hold or group.max_running and running >= group.max_running
  local cost = not blocked and group.interval and redis.pcall('HGET', job .. head[1], 'cost')
  local opens = not blocked and opens_at(group, type(cost) == 'string' and tonumber(cost) or 1)
  gate(name, opens, group.has_spent or not (known.finish or known.only_slot))
  if blocked or opens then
    leave_turns(name, known.finish)
    return false
  elseif known.finish then
    redis.call('ZADD', group_keys.turns, 'XX', known.finish, name)
    return false
  end
  return enter_turns(name)
end

local function touch(name)
  touched_groups[name] = {}
end

local function place_groups(is_quiet)
  local may_run = false
  for name, known in pairs(touched_groups) do
    may_run = place_group(name, known) or may_run
  end
  if may_run and not is_quiet then
    redis.call('ZADD', wake, '0', '1')
  end
  touched_groups = {}
  count_waiting()
end

--@include lib/group/slot
