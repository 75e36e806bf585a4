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
local group_settings = { 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', 'weight', 'max_pending', 'on_dead_head',
  'max_pending_bytes' }
local has_state, virtual_time = {}, nil
local group_defaults, common_group, any_state
--@include lib/core/now_us
--@include lib/limits/rate

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
    'rest_ms', 'paused_until_ms', 'rate_tat_us', 'rate_part', 'rate_late', unpack(group_settings)) or {}
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
  local paused_at, hold, rests_until, rest_ms, paused_until, tat, part, lateness, max_running, limit, period, burst, weight,
    max_pending, on_dead_head, max_pending_bytes = unpack(own)
  local _, all_running, all_limit, all_period, all_burst, all_weight, all_pending, on_dead_heads, all_bytes = unpack(group_defaults)
  if not limit then
    limit, period, burst = all_limit, all_period, all_burst
  end
  local rate, holds_dead = limit and read_rate(limit, period, burst, tat, part, lateness), (on_dead_head or on_dead_heads) == 'hold'
  max_running = tonumber(max_running or all_running)
  hold = max_running == 1 and hold or nil -- by the settings of now: the reason of the hold may be over
  if hold and not holds_dead and redis.call('HEXISTS', groups .. 'state:' .. name, 'hold_is_dead') == 1 then
    hold = nil
  end
  paused_until = tonumber(paused_until or nil)
  -- A later rest comes from a clock that was ahead.
  local latest_rest = now + (tonumber(rest_ms or nil) or math.huge)
  local group = { paused = not paused_until and paused_at, paused_until = paused_until or 0, hold = hold, rate = rate,
    rests_until = math.min(tonumber(rests_until or nil) or 0, latest_rest), has_spent = rests_until or tat, max_running = max_running,
    spent_us = rate and rate.us or tonumber(tat or nil) or 0, weight = tonumber(weight or all_weight) or 1,
    max_pending = tonumber(max_pending or all_pending), max_pending_bytes = tonumber(max_pending_bytes or all_bytes),
    holds_dead = holds_dead }
  group.is_ahead = rate and rate.is_ahead or (tonumber(rests_until or nil) or 0) > latest_rest
  group.waits_until = math.max(group.rests_until, group.paused_until)
  if not has_state[name] and not rate then
    common_group = group
  end
  return group
end

local function write_bounds(name, group)
  redis.call('HSET', groups .. 'state:' .. name, 'rests_until_ms', string.format('%.0f', group.rests_until))
  if group.rate then
    write_rate(groups .. 'state:' .. name, group.rate)
  end
end

-- Returns when the rate, the rest and the pause of a group let a job of this cost start, in ms; nil for now.
local function opens_at(group, cost)
  local opens = group.waits_until
  local free_us = group.rate and opens_us(group.rate, math.min(cost, group.rate.burst)) or 0
  if free_us > now_us then
    opens = math.max(opens, math.ceil(free_us / 1000))
  end
  return opens > now and opens or nil
end
