-- The end of a turn, where the next one of its group may start.
-- latest_finish: the latest end of a turn in this claim.
-- end_turn(start, weight, cost): returns the end. It is later than the start by the cost over the weight.
-- end_group_turn(name, group, start, cost, has_slot): the group pays for its job, and is placed. Returns the end, nil if
--   the group has left turns.
-- Needs: groups, lib/group/depth, lib/group/line_and_slots, lib/group/padding, lib/group/place, lib/group/scores,
--   lib/group/state, lib/limits/rate.
local latest_finish = 0

local function end_turn(start, weight, cost)
  local finish = start + cost / weight
  virtual_time = start
  latest_finish = math.max(latest_finish, finish)
  return finish
end

local function spend(name, group, cost, is_behind)
  charge_rate(group.rate, math.min(cost, group.rate.burst))
  group.spent_us, group.has_spent = group.rate.us, true
  mark_state(name)
  write_rate(groups .. 'state:' .. name, group.rate, is_behind)
end

local function end_group_turn(name, group, start, cost, has_slot)
  local finish = end_turn(start, group.weight, cost)
  local depth = (tonumber(score_in(sets.depths, name) or nil) or 0) - 1
  if depth < 1 then
    depth = redis.call('ZCARD', groups .. 'waiting:' .. name)
  end
  if depth == 0 then
    note_head(name, nil)
  end
  local running = not group.max_running and has_slot and 1 or slots_in_use(name) -- without a limit: whether there is one
  note_depth(name, depth, running)
  local id = depth > 0 and group.rate and redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0)[1]
  if group.rate then
    spend(name, group, cost, depth > 0)
  end
  place_known_group(name, group, depth, running, id, score_text(finish), group.has_spent)
  return sets.turns.scores[name] and finish or nil
end
