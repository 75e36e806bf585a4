-- The groups that a rate or a rest holds back are in gated, by the time at which that ends.
-- gate(name, opens, may_be_gated): puts a group with a waiting job there until opens, or removes it if that is nil.
-- first_gate: when the first of the groups that were put there opens; nil if none was.
-- is_gate_unwatched(): returns whether no worker waits for that.
-- rest_idle(name, group): keeps in resting what a group without a waiting job has spent, until it no longer matters.
-- forget_rested(most): then forgets it, for up to `most` groups.
-- Needs: groups, settings, lib/core/clock, lib/core/now_us, lib/group/scores, lib/group/state.
--@include lib/limits/end_pause
local first_gate = nil

-- Keeps the rest, spent rate and pause of a group without a waiting job only while these matter.
local function rest_idle(name, group)
  drop_score(sets.gated, name)
  local spent_until = math.max(group.waits_until, group.spent_us > now_us and math.ceil(group.spent_us / 1000) or 0)
  end_pause(name, group)
  if (group.has_spent or group.paused_until > now) and spent_until > now then
    redis.call('ZADD', groups .. 'resting', 'GT', string.format('%.0f', spent_until), name)
  elseif group.has_spent then
    redis.call('HDEL', groups .. 'state:' .. name, 'rate_tat_us', 'rate_part', 'rate_late', 'rests_until_ms', 'rest_ms')
  end
  if has_state[name] and redis.call('EXISTS', groups .. 'state:' .. name) == 0 then
    redis.call('HDEL', group_keys.states, name)
    has_state[name] = false
  end
end

-- Forgets the code's limits for a group, see lib/group/configure. Before their time is over the group rests on.
local function forget_configuration(name)
  local state = groups .. 'state:' .. name
  local kept_until, is_set = unpack(redis.call('HMGET', state, 'configured_until_ms', 'limits_set'))
  if kept_until and (tonumber(kept_until) > now or redis.call('EXISTS', groups .. 'running:' .. name) == 1) then
    redis.call('ZADD', groups .. 'resting', string.format('%.0f', math.max(tonumber(kept_until), now + 3600000)), name)
  elseif kept_until then
    redis.call('HDEL', state, 'configured', 'configured_until_ms', 'configured_stored')
    if not is_set then
      redis.call('HDEL', state, 'rate_set_at', unpack(group_settings))
    end
  end
end

-- Forgets groups whose rest is over. A group that has jobs again leaves resting, and returns with its last job. A group
-- that code configured stays, to be forgotten later.
local function forget_rested(most)
  for _, name in ipairs(redis.call('ZRANGE', groups .. 'resting', '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
    redis.call('ZREM', groups .. 'resting', name)
    if redis.call('EXISTS', groups .. 'waiting:' .. name) == 0 then
      forget_configuration(name)
      rest_idle(name, read_group(name))
    elseif redis.call('HEXISTS', groups .. 'state:' .. name, 'configured_until_ms') == 1 then
      redis.call('ZADD', groups .. 'resting', string.format('%.0f', now + 3600000), name)
    end
  end
end

-- Gates a group until it may start. A group that has spent nothing of a rate, or has just had a turn, is not in gated.
local function gate(name, opens, may_be_gated)
  if opens then
    first_gate = math.min(first_gate or opens, opens)
    set_score(sets.gated, name, string.format('%.0f', opens))
  elseif may_be_gated then
    drop_score(sets.gated, name)
  end
end

-- Returns whether no worker waits for the first gate. A claim would learn when it opens, see lib/limits/timer.
local function is_gate_unwatched()
  local timer_until, holder = unpack(redis.call('HMGET', settings, 'timer_until_ms', 'timer_worker'))
  timer_until = tonumber(timer_until or nil) or 0
  return not holder or timer_until <= now or timer_until > first_gate + 10
end
