-- Where groups stand. A group whose head may run now stands in turns, by its virtual start time. One that a rate or a rest holds
-- back stands in gated, by the time at which that ends. A group that is paused, held or at its max_running stands in neither.
-- A blocked group costs a claim nothing.
-- place_group(name, known): puts a group where it belongs, whatever changed. A second call changes nothing. known is what the caller
-- knows: { group, head, running, finish } of one that has just had a turn, or { only_slot = true } where only a slot was freed.
-- touch(name): has place_groups() place it at the end of the script; that wakes a worker where a group may run now.
-- count_waiting(): writes how many jobs of groups wait, after all calls of place_group; place_groups() calls it.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): what a job that leaves, or waits apart, does to its group.
-- Needs: job, groups, wake, now, time.
--@include lib/group/state
--@include lib/group/turns

local function note_depth(name, depth, running, head_rank)
  local before = tonumber(redis.call('ZSCORE', group_keys.depths, name) or nil)
  waiting_change = waiting_change + depth - (before or 0)
  if depth + running == 0 then
    redis.call('ZREM', group_keys.depths, name)
  elseif depth ~= before then
    redis.call('ZADD', group_keys.depths, string.format('%d', depth), name)
  end
  if depth == 0 then
    redis.call('ZREM', group_keys.heads, name)
  else
    redis.call('ZADD', group_keys.heads, string.format('%.0f', tonumber(head_rank) % 2 ^ 40), name)
  end
end

-- A group without a waiting job keeps what its rate has spent, and its rest, only as long as these matter.
local function rest_idle(name, group)
  local spent_until = math.max(group.rests_until, math.ceil(group.tat / 1000))
  if group.has_spent and spent_until > now then
    redis.call('ZADD', group_keys.gated, string.format('%.0f', spent_until), name)
  else
    redis.call('ZREM', group_keys.gated, name)
    if group.has_spent then
      redis.call('HDEL', groups .. 'state:' .. name, 'rate_tat_us', 'rests_until_ms')
    end
  end
end

-- Keeps to gated what a rate or a rest holds back. A group that has spent nothing of a rate, or has just had a turn, is not in there.
local function gate(name, opens, may_be_gated)
  if opens then
    redis.call('ZADD', group_keys.gated, string.format('%.0f', opens), name)
  elseif may_be_gated then
    redis.call('ZREM', group_keys.gated, name)
  end
end

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

local function count_waiting()
  if waiting_change ~= 0 then
    redis.call('HINCRBY', group_keys.settings, 'waiting', string.format('%d', waiting_change))
    waiting_change = 0
  end
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
