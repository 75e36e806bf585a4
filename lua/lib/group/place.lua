-- Where groups stand. A group whose head may run now stands in turns, by its virtual start time. One that a rate or a rest holds
-- back stands in gated, by the time at which that ends. A group that is paused, held or at its max_running stands in neither.
-- A blocked group costs a claim nothing.
-- place_group(name): puts a group where it belongs, whatever changed. A second call changes nothing.
-- touch(name): has place_groups() place it at the end of the script; that wakes a worker where a group may run now.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): what a job that leaves, or waits apart, does to its group.
-- Needs: job, groups, wake, now, time.
--@include lib/group/state
--@include lib/group/turns

local function note_depth(name, depth, running, head_rank)
  local before = tonumber(redis.call('ZSCORE', group_keys.depths, name) or nil)
  if depth ~= (before or 0) then
    redis.call('HINCRBY', group_keys.settings, 'waiting', string.format('%d', depth - (before or 0)))
  end
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

-- Answers whether it has come into turns.
local function place_group(name)
  local waiting, group = groups .. 'waiting:' .. name, read_group(name)
  local head = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')
  local running = redis.call('ZCARD', groups .. 'running:' .. name)
  note_depth(name, head[1] and redis.call('ZCARD', waiting) or 0, running, head[2])
  if not head[1] then
    leave_turns(name)
    rest_idle(name, group)
    return false
  end
  local blocked = group.paused or group.hold or group.max_running and running >= group.max_running
  local cost = not blocked and group.interval and redis.pcall('HGET', job .. head[1], 'cost')
  local opens = not blocked and opens_at(group, type(cost) == 'string' and tonumber(cost) or 1)
  if opens then
    redis.call('ZADD', group_keys.gated, string.format('%.0f', opens), name)
  else
    redis.call('ZREM', group_keys.gated, name)
  end
  if blocked or opens then
    leave_turns(name)
    return false
  end
  return enter_turns(name)
end

local function touch(name)
  touched_groups[name] = true
end

local function place_groups(is_quiet)
  for name in pairs(touched_groups) do
    if place_group(name) and not is_quiet then
      redis.call('ZADD', wake, '0', '1')
    end
  end
  touched_groups = {}
end

--@include lib/group/slot
