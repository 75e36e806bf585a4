-- The groups that a rate or a rest holds back stand in gated, by the time at which that ends.
-- gate(name, opens, may_be_gated): puts a group with a waiting job there until opens, or takes it out where that is nil.
-- rest_idle(name, group): keeps a group without a waiting job there. Needs: groups, now, lib/group/state.
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

-- A group that has spent nothing of a rate, or has just had a turn, is not in there.
local function gate(name, opens, may_be_gated)
  if opens then
    redis.call('ZADD', group_keys.gated, string.format('%.0f', opens), name)
  elseif may_be_gated then
    redis.call('ZREM', group_keys.gated, name)
  end
end
