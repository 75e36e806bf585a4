-- take_grouped(count, alike): takes up to count ids for a claim, by start-time fair queueing. The group with the least
--   virtual start time has the turn. Its start grows by the cost of the job over its weight. The jobs without a group are
--   one group, named ''.
-- alike: what lib/turn/take_alike took before, or nil
-- Returns the ids, whether a group could run another, the ranks of jobs without a group, and the ms until the first
--   gate opens.
-- Needs: full, more, pending, prioritized, lib/core/clock, lib/group/depth, lib/group/open_groups, lib/group/place,
--   lib/group/scores, lib/group/state, lib/group/turns, lib/group/write_scores, lib/limits/slots_and_rate,
--   lib/turn/claim_others.
--@include lib/turn/take_head
--@include lib/core/is_less
--@include lib/turn/line
--@include lib/turn/take_turns

-- Advances the clock if no group waits for a turn, because none is owed one. Its past entries of finishes are deleted
-- twice as fast as turns add to them. Not all at once, because many groups may have been blocked together.
local function advance_clock(turns_taken)
  if redis.call('ZCARD', group_keys.turns) == 0 then
    virtual_time = math.max(current_virtual_time(), latest_finish)
  end
  redis.call('HSET', group_keys.settings, 'virtual_time', score_text(current_virtual_time()))
  local passed = redis.call('ZRANGE', group_keys.finishes, '-inf', current_virtual_time(), 'BYSCORE', 'LIMIT', 0,
    2 * turns_taken + 10)
  remove_all(group_keys.finishes, passed)
end

local function place_plain()
  local waiting = redis.call('LLEN', pending) + redis.call('ZCARD', prioritized)
  if waiting > 0 then
    enter_turns('')
  elseif score_in(sets.turns, '') then
    leave_turns('')
    go_idle('')
  end
  write_scores()
  return waiting
end

local function take_grouped(count, alike)
  open_groups(100)
  place_groups(true)
  local plain_left = place_plain()
  local plain_weight = tonumber(redis.call('HGET', group_keys.settings, 'plain_weight') or nil) or 1
  local taken, plain, ranks_of_plain = alike or { bytes = 0, groups = {} }, {}, nil
  latest_finish = taken.latest_finish or 0
  if not alike then
    check_group_keys()
  end
  local plain_turns = take_turns(count, taken, plain_left, plain_weight)
  if plain_turns > 0 then
    plain, more, ranks_of_plain = take_ungrouped(plain_turns)
    if #plain < plain_turns and not full then
      take_turns(count - #plain, taken, 0, plain_weight) -- the claimer does not handle the others
    end
    charge(plain, #taken > 0 and taken.bytes or nil)
    place_plain()
  end
  note_heads(taken.groups)
  write_scores()
  count_waiting()
  if #taken + #plain > 0 then
    advance_clock(#taken + #plain)
  end
  for _, id in ipairs(plain) do
    taken[#taken + 1] = id
  end
  local first_opens = redis.call('ZRANGE', group_keys.gated, 0, 0, 'WITHSCORES')[2]
  return taken, redis.call('ZCARD', group_keys.turns) > 0, ranks_of_plain, first_opens and math.max(1, tonumber(first_opens) - now)
end
