-- The settings of a group, and when it lets a job start.
-- read_group(name): returns its settings, else those of all groups, and its state.
-- opens_at(group, cost): returns when a job may start in ms; nil for now. The hash states names the groups whose own
--   hash may have a field. Other groups' hashes are not read.
-- write_bounds(name, group): writes the rest and the spent rate back if a clock that was ahead has made them.
-- mark_state(name): must be called when such a field is written.
-- recall_states(names): reads many groups together.
-- Needs: groups, lib/core/clock.
local group_keys = { turns = groups .. 'turns', gated = groups .. 'gated', finishes = groups .. 'finishes',
  ends = groups .. 'ends', depths = groups .. 'depths', heads = groups .. 'heads', settings = groups .. 'settings',
  states = groups .. 'states' }
local group_settings = { 'max_running', 'rate_interval_us', 'rate_burst', 'weight', 'max_pending', 'on_dead_head',
  'max_pending_bytes' }
local has_state, virtual_time = {}, nil
local group_defaults, common_group, any_state
--@include lib/core/now_us

-- Reads which groups have a state. If none has, one EXISTS shows it for all.
local function recall_states(names)
  if any_state == nil then
    any_state = redis.call('EXISTS', group_keys.states) == 1
  end
  local named = any_state and redis.call('HMGET', group_keys.states, unpack(names))
  for i = 1, #names do
    has_state[names[i]] = any_state and named[i] ~= false
  end
end

local function mark_state(name)
  if not has_state[name] then
    redis.call('HSET', group_keys.states, name, '1')
    any_state, has_state[name] = true, true
  end
end

local function read_state(name)
  if has_state[name] == nil then
    recall_states({ name })
  end
  return has_state[name] and redis.call('HMGET', groups .. 'state:' .. name, 'paused_at_ms', 'hold', 'rests_until_ms',
    'rate_tat_us', 'rest_ms', 'paused_until_ms', unpack(group_settings)) or {}
end

-- Bounds the spent rate and the rest by the latest that the clock of now can have made. A later one comes from a clock
-- that was ahead. rest_ms: the length of the rest.
local function bound(group, rest_ms)
  local latest = group.interval and now_us + group.burst * group.interval + 1 or math.huge -- it is stored rounded
  if group.tat > latest or group.rests_until > now + rest_ms then
    group.tat, group.rests_until, group.is_ahead = math.min(group.tat, latest), math.min(group.rests_until, now + rest_ms), true
  end
end

-- Returns the settings of a group, else those of all groups, and its state. Groups without their own settings share one
-- table.
local function read_group(name)
  if has_state[name] == false and common_group then
    return common_group
  end
  if not group_defaults then
    group_defaults = redis.call('HMGET', group_keys.settings, 'virtual_time', unpack(group_settings))
    virtual_time = virtual_time or tonumber(group_defaults[1] or nil) or 0
  end
  local own = read_state(name)
  if not has_state[name] and common_group then
    return common_group
  end
  local rate = own[8] and own or { [8] = group_defaults[3], [9] = group_defaults[4] }
  local max_running, holds_dead = tonumber(own[7] or group_defaults[2]), (own[12] or group_defaults[7]) == 'hold'
  local hold = max_running == 1 and own[2] or nil -- by the settings of now: the reason of the hold may be over
  if hold and not holds_dead and redis.call('HEXISTS', groups .. 'state:' .. name, 'hold_is_dead') == 1 then
    hold = nil
  end
  local paused_until = tonumber(own[6] or nil)
  local group = { paused = not paused_until and own[1], paused_until = paused_until or 0, hold = hold,
    rests_until = tonumber(own[3]) or 0, tat = math.max(tonumber(own[4]) or 0, now_us),
    has_spent = own[3] or own[4], max_running = max_running, interval = tonumber(rate[8]),
    burst = tonumber(rate[9]), weight = tonumber(own[10] or group_defaults[5]) or 1,
    max_pending = tonumber(own[11] or group_defaults[6]),
    max_pending_bytes = tonumber(own[13] or group_defaults[8]), holds_dead = holds_dead }
  bound(group, tonumber(own[5]) or math.huge)
  group.waits_until = math.max(group.rests_until, group.paused_until)
  if not has_state[name] and not group.interval then
    common_group = group
  end
  return group
end

local function write_bounds(name, group)
  redis.call('HSET', groups .. 'state:' .. name, 'rate_tat_us', string.format('%.0f', group.tat), 'rests_until_ms',
    string.format('%.0f', group.rests_until))
end

-- Returns when the rate, the rest and the pause of a group let a job of this cost start, in ms; nil for now.
local function opens_at(group, cost)
  local opens = group.waits_until
  if group.interval then
    local free_us = group.tat + (math.min(cost, group.burst) - group.burst) * group.interval
    opens = free_us > now_us + 1 and math.max(opens, math.ceil(free_us / 1000)) or opens
  end
  return opens > now and opens or nil
end
