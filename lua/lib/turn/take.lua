-- take_grouped(count, taken_before): takes up to count ids for a claim, by start-time fair queueing. The group with the least
--   virtual start time has the turn. Its start grows by the cost of the job over its weight. The jobs without a group are
--   one group, named ''.
-- In a paused queue it takes none, and only places the groups of promoted jobs.
-- taken_before: what lib/turn/take_single_slot took before, or nil
-- Returns the ids in the order of turns, whether a group could run another, and the ms until the first gate opens.
-- Needs: full, more, pending, prioritized, lib/core/clock, lib/group/depth, lib/group/open_groups, lib/group/place,
--   lib/group/scores, lib/group/state, lib/group/turns, lib/group/write_scores, lib/limits/charge,
--   lib/limits/slots_and_rate, lib/turn/after_turns, lib/turn/claim_others.
--@include lib/turn/take_head
--@include lib/turn/take_turns

local function place_plain()
  local waiting = redis.call('LLEN', pending) + redis.call('ZCARD', prioritized)
  if waiting > 0 then
    enter_turns('')
  elseif score_in(sets.turns, '') then
    leave_turns('')
    go_idle('')
  end
  return waiting
end

local function take_grouped(count, taken_before)
  if paused then
    place_groups()
    return {}, false
  end
  open_groups(100)
  place_groups(true)
  local turns = { left = place_plain(), weight = tonumber(redis.call('HGET', group_keys.settings, 'plain_weight') or nil) or 1,
    before = {}, costs = {}, bytes = 0 }
  local taken, plain = taken_before or { bytes = 0, groups = {} }, {}
  latest_finish = taken.latest_finish or 0
  take_turns(count, taken, turns)
  if turns.before[1] then
    local function refund_turns(kept)
      for _ = kept + 1, #turns.costs do
        pay(-table.remove(turns.costs))
      end
    end
    plain, more = take_ungrouped(#turns.before)
    if #plain < #turns.before and not full then
      -- The claimer does not handle the others.
      refund_turns(#plain)
      turns.left, turns.before = #plain, { unpack(turns.before, 1, #plain) }
      take_turns(count, taken, turns)
    end
    refund_turns(0) -- the jobs that were taken pay now
    charge(plain, #taken > 0 and taken.bytes - turns.bytes or nil)
    place_plain()
  end
  write_scores()
  count_waiting()
  local turns_taken = #taken + #plain
  local is_more = turns_taken > 0 and after_turns(taken.groups, turns_taken, current_virtual_time(), latest_finish, true)
    or redis.call('ZCARD', group_keys.turns) > 0
  for place = #plain, 1, -1 do
    table.insert(taken, turns.before[place] + 1, plain[place]) -- where its turn was
  end
  local first_name, first_opens = unpack(redis.call('ZRANGE', group_keys.gated, 0, 0, 'WITHSCORES'))
  if first_name and #first_name > 1024 then -- no group has such a name, and each claim would read it
    redis.call('ZREM', group_keys.gated, first_name)
  end
  return taken, is_more, first_opens and math.max(1, tonumber(first_opens) - now)
end
