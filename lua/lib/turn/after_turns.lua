-- after_turns(names, turns_taken, clock, latest_finish, may_have_finishes): moves the virtual time on after turns, and
--   writes the places of some heads. Returns whether a group may have another turn.
-- names: the groups among them. clock: the start of the last turn. latest_finish: the latest end of one.
-- may_have_finishes: false if finishes was empty and has had no entry since.
-- The clock advances to that end if no group waits for a turn, because none is owed one. Its past entries of finishes are
-- deleted twice as fast as turns add to them. Not all at once, because many groups may have been blocked together. A
-- claim of few groups writes the places of all heads.
-- Needs: groups, lib/core/clock, lib/group/padding.
local latest_clock = 2 ^ 33 -- up to there a job of cost 1 in a group of weight 1,000 moves a start by 0.001, within 0.1 %

-- Sets the virtual time back to 0, and the starts and ends of turns by as much. Costs of up to a million let it grow until a
-- small step is lost in it. Then one group would have every turn. It is put off while too many groups have one.
local function set_clock_back(clock)
  local sorted, ends = { groups .. 'turns', groups .. 'finishes' }, groups .. 'ends'
  if redis.call('ZCARD', sorted[1]) + redis.call('ZCARD', sorted[2]) + redis.call('HLEN', ends) > 10000 then
    return
  end
  local function back(values, first)
    for i = first, #values, 2 do
      values[i] = score_text(math.max(0, tonumber(values[i]) - clock))
    end
    return values
  end
  for _, key in ipairs(sorted) do
    local found, scores = back(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), 2), {}
    for i = 1, #found, 2 do
      scores[i], scores[i + 1] = found[i + 1], found[i]
    end
    add_many(key, 'CH', scores)
  end
  add_many(ends, nil, back(redis.call('HGETALL', ends), 2))
  redis.call('HSET', groups .. 'settings', 'virtual_time', '0')
end

local function after_turns(names, turns_taken, clock, latest_finish, may_have_finishes)
  local is_more, heads, from = redis.call('ZCARD', groups .. 'turns') > 0, {}, tonumber(time[2])
  clock = is_more and clock or math.max(clock, latest_finish)
  redis.call('HSET', groups .. 'settings', 'virtual_time', score_text(clock))
  if clock > latest_clock then
    set_clock_back(clock)
    clock = 0
  end
  local passed = may_have_finishes
    and redis.call('ZRANGE', groups .. 'finishes', '-inf', clock, 'BYSCORE', 'LIMIT', 0, 2 * turns_taken + 10)
  if passed and passed[1] then
    redis.call('ZREM', groups .. 'finishes', unpack(passed))
  end
  for i = from, from + math.min(#names, 4) - 1 do
    local name = names[i % #names + 1]
    local rank = redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0, 'WITHSCORES')[2]
    if rank then
      heads[#heads + 1], heads[#heads + 2] = string.format('%d', tonumber(rank) % 2 ^ 40), name
    end
  end
  if heads[1] then
    redis.call('ZADD', groups .. 'heads', unpack(heads))
  end
  return is_more
end
