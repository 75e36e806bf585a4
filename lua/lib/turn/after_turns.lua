-- after_turns(names, turns_taken, clock, latest_finish, may_have_finishes): moves the virtual time on after turns, and
--   writes the places of some heads. Returns whether a group may have another turn.
-- names: the groups among them. clock: the start of the last turn. latest_finish: the latest end of one.
-- may_have_finishes: false if finishes was empty and has had no entry since.
-- The clock advances to that end if no group waits for a turn, because none is owed one. Its past entries of finishes are
-- deleted twice as fast as turns add to them. Not all at once, because many groups may have been blocked together. A
-- claim of few groups writes the places of all heads.
-- Needs: groups, lib/core/clock, lib/group/padding.
local function after_turns(names, turns_taken, clock, latest_finish, may_have_finishes)
  local is_more, heads, from = redis.call('ZCARD', groups .. 'turns') > 0, {}, tonumber(time[2])
  clock = is_more and clock or math.max(clock, latest_finish)
  redis.call('HSET', groups .. 'settings', 'virtual_time', score_text(clock))
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
