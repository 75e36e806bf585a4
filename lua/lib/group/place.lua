-- Where groups stand. A group whose head may run now stands in turns, by its virtual start time. One that a rate or a rest holds
-- back stands in gated, by the time at which that ends. A group that is paused, held or at its max_running stands in neither.
-- A blocked group costs a claim nothing.
-- place_group(name): puts a group where it belongs, whatever changed. A second call changes nothing.
-- touch(name): has place_groups() place it at the end of the script; that wakes a worker where a group may run now.
-- free_slot(name, id), hold_group(name, id), end_hold(name, id): what a job that leaves, or waits apart, does to its group.
-- Needs: job, groups, wake, now, time.
local group_keys = { turns = groups .. 'turns', gated = groups .. 'gated', finishes = groups .. 'finishes',
  depths = groups .. 'depths', heads = groups .. 'heads', settings = groups .. 'settings' }
local group_settings = { 'max_running', 'rate_interval_us', 'rate_burst', 'weight', 'max_pending', 'on_dead_head' }
local group_defaults, virtual_time, touched_groups = nil, nil, {}
local now_us = tonumber(time[1]) * 1e6 + tonumber(time[2])

-- What holds for a group: its own settings, else those of all groups, and its state.
local function read_group(name)
  group_defaults = group_defaults or redis.call('HMGET', group_keys.settings, unpack(group_settings))
  local own = redis.call('HMGET', groups .. 'state:' .. name, 'paused_at_ms', 'hold', 'rests_until_ms', 'rate_tat_us',
    unpack(group_settings))
  local rate = own[6] and own or { [6] = group_defaults[2], [7] = group_defaults[3] }
  return { paused = own[1], hold = own[2], rests_until = tonumber(own[3]) or 0, tat = math.max(tonumber(own[4]) or 0, now_us),
    has_spent = own[3] or own[4], max_running = tonumber(own[5] or group_defaults[1]), interval = tonumber(rate[6]),
    burst = tonumber(rate[7]), weight = tonumber(own[8] or group_defaults[4]) or 1,
    max_pending = tonumber(own[9] or group_defaults[5]), holds_dead = (own[10] or group_defaults[6]) == 'hold' }
end

-- When the rate and the rest of a group let a job of this cost start, in ms; nil where now.
local function opens_at(group, cost)
  local opens = group.rests_until
  if group.interval then
    local free_us = group.tat + (math.min(cost, group.burst) - group.burst) * group.interval
    opens = free_us > now_us + 1 and math.max(opens, math.ceil(free_us / 1000)) or opens
  end
  return opens > now and opens or nil
end

local function current_virtual_time()
  virtual_time = virtual_time or tonumber(redis.call('HGET', group_keys.settings, 'virtual_time') or nil) or 0
  return virtual_time
end

-- An idle group has no credit: it starts now, or where its last turn ended if that is later.
local function enter_turns(name)
  if redis.call('ZSCORE', group_keys.turns, name) then
    return false
  end
  local finish = tonumber(redis.call('ZSCORE', group_keys.finishes, name) or nil) or 0
  redis.call('ZADD', group_keys.turns, string.format('%.17g', math.max(current_virtual_time(), finish)), name)
  redis.call('ZREM', group_keys.finishes, name)
  return true
end

local function leave_turns(name)
  local finish = redis.call('ZSCORE', group_keys.turns, name)
  if finish then
    redis.call('ZREM', group_keys.turns, name)
    if tonumber(finish) > current_virtual_time() then
      redis.call('ZADD', group_keys.finishes, finish, name)
    end
  end
end

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

local function free_slot(name, id)
  redis.call('ZREM', groups .. 'running:' .. name, id)
  touch(name)
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
